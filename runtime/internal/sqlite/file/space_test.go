package file

import "testing"

func TestAFileSystemIsFullWhenItSaysSo(t *testing.T) {
	defer func() { space = freeSpace }()
	for _, test := range []struct {
		free  int64
		known bool
		want  bool
	}{{0, true, true}, {99, true, true}, {100, true, false}, {0, false, false}} {
		space = func(string) (int64, bool) { return test.free, test.known }
		if got := Full("x/shop.db", 100); got != test.want {
			t.Errorf("with %+v: %v", test, got)
		}
	}
	space = freeSpace
	if Full(t.TempDir()+"/nothing/shop.db", 100) {
		t.Error("a folder that does not exist is full")
	}
}
