/* Operators of one element of int16 at a time; QUANTIZE from and to other types. */
#include "unary.h"

REQUANTIZE(reference_requantize_s16, int16_t, int16_t)
REQUANTIZE(reference_requantize_s16_to_s8, int16_t, int8_t)
REQUANTIZE(reference_requantize_s8_to_s16, int8_t, int16_t)
REQUANTIZE(reference_requantize_s16_to_s32, int16_t, int32_t)
REQUANTIZE(reference_requantize_s32_to_s16, int32_t, int16_t)
LEAKY_RELU(reference_leaky_relu_s16, int16_t)
DEQUANTIZE(reference_dequantize_s16, int16_t)
QUANTIZE(reference_quantize_s16, int16_t)

int32_t reference_relu_s16(const struct unary_call *call) { return reference_requantize_s16(call); }

/* 1 / (1 + exp(-i / 24)) in units of 2^-16, raised by half of what a straight line to the next one lacks in between. */
static const uint16_t sigmoid[256] = {
    32768, 33451, 34133, 34813, 35493, 36169, 36843, 37513, 38180, 38841, 39498, 40149, 40794, 41432, 42064, 42688,
    43304, 43912, 44511, 45102, 45683, 46255, 46817, 47369, 47911, 48443, 48964, 49475, 49975, 50464, 50942, 51409,
    51865, 52311, 52745, 53169, 53581, 53983, 54374, 54755, 55125, 55485, 55834, 56174, 56503, 56823, 57133, 57433,
    57724, 58007, 58280, 58544, 58800, 59048, 59288, 59519, 59743, 59959, 60168, 60370, 60565, 60753, 60935, 61110,
    61279, 61441, 61599, 61750, 61896, 62036, 62172, 62302, 62428, 62549, 62666, 62778, 62886, 62990, 63090, 63186,
    63279, 63368, 63454, 63536, 63615, 63691, 63765, 63835, 63903, 63968, 64030, 64090, 64148, 64204, 64257, 64308,
    64357, 64405, 64450, 64494, 64536, 64576, 64614, 64652, 64687, 64721, 64754, 64786, 64816, 64845, 64873, 64900,
    64926, 64950, 64974, 64997, 65019, 65039, 65060, 65079, 65097, 65115, 65132, 65149, 65164, 65179, 65194, 65208,
    65221, 65234, 65246, 65258, 65269, 65280, 65291, 65301, 65310, 65319, 65328, 65337, 65345, 65352, 65360, 65367,
    65374, 65381, 65387, 65393, 65399, 65404, 65410, 65415, 65420, 65425, 65429, 65433, 65438, 65442, 65445, 65449,
    65453, 65456, 65459, 65462, 65465, 65468, 65471, 65474, 65476, 65479, 65481, 65483, 65485, 65488, 65489, 65491,
    65493, 65495, 65497, 65498, 65500, 65501, 65503, 65504, 65505, 65507, 65508, 65509, 65510, 65511, 65512, 65513,
    65514, 65515, 65516, 65517, 65517, 65518, 65519, 65520, 65520, 65521, 65522, 65522, 65523, 65523, 65524, 65524,
    65525, 65525, 65526, 65526, 65526, 65527, 65527, 65528, 65528, 65528, 65529, 65529, 65529, 65529, 65530, 65530,
    65530, 65530, 65531, 65531, 65531, 65531, 65531, 65532, 65532, 65532, 65532, 65532, 65532, 65533, 65533, 65533,
    65533, 65533, 65533, 65533, 65533, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65535,
};

/* The table in steps of 2^bits, straight lines between; most where it ends. x is in units of 1 / (24 * 2^bits). */
static inline int32_t on_curve(uint32_t x, int32_t bits, int32_t most)
{
    uint32_t step = x >> bits, rest = x & ((1u << bits) - 1);
    if (step >= 255)
        return most;
    return (sigmoid[step] << bits) + (int32_t)rest * (sigmoid[step + 1] - sigmoid[step]);
}

static inline int32_t in_table(const struct unary_call *call, int32_t value)
{
    int32_t half = call->shift > 0 ? 1 << (call->shift - 1) : 0;
    return (value * call->multiplier + half) >> call->shift;
}

int32_t reference_logistic_s16(const struct unary_call *call)
{
    const int16_t *input = call->input;
    int16_t *output = call->output;
    for (int32_t i = 0; i < call->elements; i++) {
        int32_t x = in_table(call, input[i]), y = on_curve((uint32_t)(x < 0 ? -x : x), 9, 0x7FFF << 10);
        output[i] = (int16_t)((x >= 0 ? y + (1 << 9) : (1 << 25) - y + (1 << 9) - 1) >> 10);
    }
    return 0;
}

int32_t reference_tanh_s16(const struct unary_call *call) /* 2 / (1 + exp(-2x)) - 1 */
{
    const int16_t *input = call->input;
    int16_t *output = call->output;
    for (int32_t i = 0; i < call->elements; i++) {
        int32_t x = in_table(call, input[i]), y = on_curve((uint32_t)(x < 0 ? -x : x), 8, 0xFFFF << 8);
        output[i] = (int16_t)((x >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1) >> 8);
    }
    return 0;
}
