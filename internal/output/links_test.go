package output_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/output"
)

func TestGeneratedCodeDoesNotLeaveItsFolderThroughALink(t *testing.T) {
	for name, link := range map[string]struct{ at, to, says string }{
		"a file":            {"a.gen.go", "../elsewhere/a.gen.go", "a.gen.go is a symbolic link to ../elsewhere/a.gen.go"},
		"a file of nowhere": {"a.gen.go", "../elsewhere/none.go", "a.gen.go is a symbolic link to ../elsewhere/none.go"},
		"a folder":          {"kittest", "../elsewhere", "kittest is a symbolic link to ../elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			above := folder(t, map[string]string{"elsewhere/a.gen.go": header + "old", "events/events.yaml": "x"})
			dir := filepath.Join(above, "events")
			if err := os.Symlink(link.to, filepath.Join(dir, link.at)); err != nil {
				t.Skip(err)
			}
			before := snapshot(t, filepath.Join(above, "elsewhere"))
			plan := compare(t, dir, files("a.gen.go", "new", "kittest/testkit.gen.go", "new"))

			err := plan.Apply()

			if err == nil || !strings.Contains(err.Error(), link.says) || !strings.Contains(err.Error(), "remove the link") {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, snapshot(t, filepath.Join(above, "elsewhere"))); diff != "" {
				t.Errorf("elsewhere (-before +after):\n%s", diff)
			}
			if to, err := os.Readlink(filepath.Join(dir, link.at)); to != link.to {
				t.Errorf("the link leads to %q, %v", to, err)
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 2 {
				t.Errorf("the folder has %v", entries)
			}
		})
	}
}

func TestALinkToTheRightContentIsUpToDate(t *testing.T) {
	above := folder(t, map[string]string{"cache/a.gen.go": header + "same"})
	dir := filepath.Join(above, "events")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../cache/a.gen.go", filepath.Join(dir, "a.gen.go")); err != nil {
		t.Skip(err)
	}
	plan := compare(t, dir, files("a.gen.go", "same"))
	if err := plan.Apply(); err != nil || !plan.UpToDate() {
		t.Errorf("%+v, %v", plan.Steps, err)
	}
}

func TestTheOutputFolderCanBeALink(t *testing.T) {
	above := folder(t, map[string]string{"real/note": "x"})
	link := filepath.Join(above, "events")
	if err := os.Symlink("real", link); err != nil {
		t.Skip(err)
	}
	if err := compare(t, link, files("a.gen.go", "new")).Apply(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(above, "real", "a.gen.go")); string(text) != header+"new" {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestReplaceRefusesALinkToNowhereAndWhatIsNoFile(t *testing.T) {
	dir := folder(t, nil)
	link := filepath.Join(dir, "page.html")
	if err := os.Symlink("nowhere.html", link); err != nil {
		t.Skip(err)
	}
	if _, err := output.Replace(link, []byte("new")); err == nil || !strings.Contains(err.Error(), "page.html is a symbolic link to nowhere.html, which does not exist") {
		t.Errorf("got %v", err)
	}
	if _, err := output.Replace(os.DevNull, []byte("new")); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("the device is %v, %v", info.Mode(), err)
	}
}
