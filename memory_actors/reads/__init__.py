"""What can be asked of a stream at one basis. Nothing here writes."""
