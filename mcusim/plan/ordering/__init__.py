"""The order of a graph's operators that needs the least memory at its peak."""

from mcusim.plan.ordering.order_search import Ordering, optimal_order

__all__ = ["Ordering", "optimal_order"]
