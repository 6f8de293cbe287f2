"""The formulas of seed 4: half-life by accesses, and priority at any moment. Pure arithmetic."""

import math

from events.policy import MICROS_A_DAY, TopicRules


def half_life_days(accesses: int, rules: TopicRules) -> float:
    """`base * 2^(accesses // accesses_to_double)`, at most `max`: 1 day, doubling every 5 accesses, up to 30 (seed 4, 3)."""
    doublings = min(accesses // rules.accesses_to_double, 64)
    return min(math.ldexp(rules.base_half_life_days, doublings), rules.max_half_life_days)


def priority(importance: float, accesses: int, age_micros: int, rules: TopicRules) -> float:
    """`importance * 0.5^(age / half-life)`, rounded to 12 decimals before anything is ranked by it (seed 4, 3)."""
    half_life = half_life_days(accesses, rules) * MICROS_A_DAY
    return round(importance * math.pow(0.5, max(age_micros, 0) / half_life), 12)
