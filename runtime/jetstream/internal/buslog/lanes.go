package buslog

// Parked implements [engine.Parker].
func (c *consumer) Parked() bool { return false }

// Behind implements [engine.Parker].
func (c *consumer) Behind([]string, int64) (int, error) { return -1, nil }

// Free implements [engine.Parker].
func (c *consumer) Free(string, int) {}
