"""Event-sourced, actor-based long-term memory for LLM agents."""
