"""Plans of named models on named boards, for several test files."""

from __future__ import annotations

from functools import cache

from mcusim.kernels import load_profile
from mcusim.machine import Machine, load_machine
from mcusim.model import Graph, load_model
from mcusim.plan import plan, plan_options
from mcusim.program.program import Compute, Program, Transfer
from tests.support.paths import shared_model

KIB = 1024
DISCOS = ("stm32f469i-disco", "stm32f746g-disco")
ZOO = ("ds-cnn", "cifar10-arm", "figure-1", "mobilenet-v1-w0.25-r096", "mobilenet-v2-w0.35-r096", "mbv3-w0.40-r096")
FILES = ("kws_ref_model", "vww_96_int8", "pretrainedResnet_quant", "ad01_int8", "person_detect", "hello_world_int8")
SWIFTNET = "swiftnet_vwwc19_uint8"


def model(name: str) -> Graph:
    return load_model(shared_model(f"{name}.tflite")) if name in (*FILES, SWIFTNET) else load_model(name)


@cache
def board(name: str) -> Machine:
    return load_machine(name)


def planned(name: str, machine: str, policy: str, **options: object) -> Program:
    chosen = plan_options(**options)  # type: ignore[arg-type]
    return plan(model(name), board(machine), policy, load_profile("cmsis-2021-gcc9"), chosen)


def transfers(program: Program) -> list[Transfer]:
    return [t for t in program.tasks if isinstance(t, Transfer)]


def calls(program: Program) -> list[Compute]:
    return [t for t in program.tasks if isinstance(t, Compute)]
