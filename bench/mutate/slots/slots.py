"""Free times between meetings. Times are minutes since midnight."""


def merge(busy):
    """Overlapping and touching meetings as one."""
    merged = []
    for start, end in sorted(busy):
        if end <= start:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def free(busy, day_start=540, day_end=1020, shortest=30):
    """What is left of the day, in pieces of at least `shortest` minutes."""
    slots = []
    at = day_start
    for start, end in merge(busy):
        if end <= day_start or start >= day_end:
            continue
        if start - at >= shortest:
            slots.append((at, start))
        at = max(at, end)
    if day_end - at >= shortest:
        slots.append((at, day_end))
    return slots


def parse(text):
    hours, _, minutes = text.partition(":")
    value = int(hours) * 60 + int(minutes or 0)
    if not 0 <= value < 1440:
        raise ValueError(f"no such time: {text}")
    return value


def first_common(people, length):
    """The first time at which all have `length` minutes, or None."""
    together = [meeting for busy in people for meeting in busy]
    for start, end in free(together, shortest=length):
        return start, start + length
    return None
