package event

// TreeNode is an event with everything that became of it, and the events that came of it.
type TreeNode struct {
	EventHistory
	Children  []*TreeNode `json:"children,omitempty"`  // the events that its handlers have published, and its dead-letter notices; the oldest first
	Truncated bool        `json:"truncated,omitempty"` // it has more children than are listed: the tree has reached its limit
}
