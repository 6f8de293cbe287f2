"""Who writes, and where: the UserActor, its placements, and the work behind the reply. Ray stays in `ray_*.py`."""
