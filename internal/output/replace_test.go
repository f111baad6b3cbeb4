package output_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/output"
)

func TestReplaceWritesAFileAndKeepsItsPermissions(t *testing.T) {
	dir := folder(t, map[string]string{"events.yaml": "old"})
	path := filepath.Join(dir, "events.yaml")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}

	if changed, err := output.Replace(path, []byte("new")); !changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}

	if diff := cmp.Diff(map[string]string{"events.yaml": "new"}, contents(snapshot(t, dir))); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
}

func TestReplaceDoesNotTouchAFileThatIsRight(t *testing.T) {
	dir := folder(t, map[string]string{"events.yaml": "same"})
	age(t, dir)
	before := snapshot(t, dir)

	if changed, err := output.Replace(filepath.Join(dir, "events.yaml"), []byte("same")); changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}

	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("folder (-before +after):\n%s", diff)
	}
}

func TestReplaceCreatesAFileThatIsNotThere(t *testing.T) {
	dir := folder(t, nil)
	if changed, err := output.Replace(filepath.Join(dir, "new.html"), []byte("new")); !changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
	if diff := cmp.Diff(map[string]string{"new.html": "new"}, contents(snapshot(t, dir))); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
}

func TestReplaceFollowsALinkAndLeavesItOne(t *testing.T) {
	dir := folder(t, map[string]string{"real.yaml": "old"})
	link := filepath.Join(dir, "link.yaml")
	if err := os.Symlink("real.yaml", link); err != nil {
		t.Skip(err)
	}
	if _, err := output.Replace(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(link); target != "real.yaml" || err != nil {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "real.yaml")); string(text) != "new" || err != nil {
		t.Errorf("the file has %q, %v", text, err)
	}
}

func TestReplaceLeavesAFolderAlone(t *testing.T) {
	dir := folder(t, map[string]string{"folder/file": "x"})
	if _, err := output.Replace(filepath.Join(dir, "folder"), []byte("new")); err == nil {
		t.Error("no error")
	}
	if diff := cmp.Diff(map[string]string{"folder/file": "x"}, contents(snapshot(t, dir))); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
}

func TestReplaceAllChangesAllFilesOrNone(t *testing.T) {
	dir := folder(t, map[string]string{"a.yaml": "old", "b.yaml": "old", "c.yaml/file": "in a folder"})
	all := func(names ...string) []output.File {
		var files []output.File
		for _, name := range names {
			files = append(files, output.File{Name: filepath.Join(dir, name), Content: []byte("new")})
		}
		return files
	}
	if err := output.ReplaceAll(all("a.yaml", "b.yaml", "c.yaml")); err == nil || !strings.Contains(err.Error(), "c.yaml cannot be changed; no file was") {
		t.Errorf("got %v", err)
	}
	want := map[string]string{"a.yaml": "old", "b.yaml": "old", "c.yaml/file": "in a folder"}
	if diff := cmp.Diff(want, contents(snapshot(t, dir))); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
	if err := output.ReplaceAll(all("a.yaml", "b.yaml")); err != nil {
		t.Fatal(err)
	}
	want["a.yaml"], want["b.yaml"] = "new", "new"
	if diff := cmp.Diff(want, contents(snapshot(t, dir))); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
}
