package engine

// Actions returns the actions that an audit can have.
func Actions() []string {
	return []string{"publish", "retry", "edit", "discard", "cancel", "undiscard", "undo", "replay", "try now", "purge", "import", "pause", "resume", "remove", "rename", "redrive", "close breaker", "move", "erase"}
}
