package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var dist = flag.String("dist", "", "the folder that goreleaser has written, to look at its archives: release/snapshot does that")

// TestTheArchivesHaveWhatTheyShould looks at what goreleaser has made.
func TestTheArchivesHaveWhatTheyShould(t *testing.T) {
	if *dist == "" {
		t.Skip("release/snapshot runs this")
	}
	sums, err := os.ReadFile(filepath.Join(*dist, "checksums.txt"))
	must(t, err)
	systems := read(t).systems()
	if n := strings.Count(string(sums), "\n"); n != len(systems) {
		t.Errorf("there are %d checksums for %d archives", n, len(systems))
	}
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			found, err := filepath.Glob(filepath.Join(*dist, "busgen_*_"+strings.ReplaceAll(system, "/", "_")+".*"))
			if err != nil || len(found) != 1 {
				t.Fatalf("%v, %v", found, err)
			}
			content, err := os.ReadFile(found[0])
			must(t, err)
			if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(content), filepath.Base(found[0])); !strings.Contains(string(sums), line) {
				t.Errorf("the checksum should be %s", line)
			}
			files := unpack(t, found[0], content)
			folder := save(t, files)
			isABinary(t, folder, system)
			pages, err := filepath.Glob(filepath.Join(folder, "man1", "*.1"))
			if err != nil || len(pages) < 60 {
				t.Errorf("%d pages for man, %v", len(pages), err)
			}
			for _, name := range []string{"LICENSE", "CHANGELOG.md", "release/licences.txt", "busgen.cdx.json", "completions/busgen.bash", "completions/_busgen", "completions/busgen.fish", "completions/busgen.ps1"} {
				if len(files[name]) == 0 {
					t.Errorf("there is no %s", name)
				}
			}
			t.Logf("%s: %d bytes, %d files", filepath.Base(found[0]), len(content), len(files))
			if system == runtime.GOOS+"/"+runtime.GOARCH {
				opens(t, folder, pages)
			}
		})
	}
}

// unpack returns the files of an archive by their names.
func unpack(t *testing.T, name string, content []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	if filepath.Ext(name) == ".zip" {
		archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		must(t, err)
		for _, file := range archive.File {
			opened, err := file.Open()
			must(t, err)
			files[file.Name], err = io.ReadAll(opened)
			must(t, err)
		}
		return files
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	must(t, err)
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		must(t, err)
		if header.Name == "busgen" && header.Mode&0o111 == 0 {
			t.Error("busgen cannot be executed")
		}
		files[header.Name], err = io.ReadAll(archive)
		must(t, err)
	}
}

func save(t *testing.T, files map[string][]byte) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, content := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(folder, name), content, 0o755))
	}
	return folder
}

// isABinary checks that there is a binary for a system, which needs no library.
func isABinary(t *testing.T, folder, system string) {
	t.Helper()
	goos, goarch, _ := strings.Cut(system, "/")
	name := filepath.Join(folder, "busgen")
	if goos == "windows" {
		name += ".exe"
	}
	info, err := buildinfo.ReadFile(name)
	must(t, err)
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["GOOS"] != goos || settings["GOARCH"] != goarch || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
		t.Errorf("the binary was built with %v", settings)
	}
	if goos != "linux" {
		return
	}
	binary, err := elf.Open(name)
	must(t, err)
	defer binary.Close()
	libraries, err := binary.ImportedLibraries()
	if err != nil || len(libraries) > 0 || slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("the binary is not static: %v, %v", libraries, err)
	}
}

// opens has the system of this machine read the pages and the completions.
func opens(t *testing.T, folder string, pages []string) {
	for _, read := range [][]string{
		append([]string{"mandoc", "-T", "lint", "-W", "error"}, pages...),
		{"man", "-l", filepath.Join(folder, "man1", "busgen-dlq-retry.1")},
		{"bash", "-n", filepath.Join(folder, "completions", "busgen.bash")},
		{"zsh", "-n", filepath.Join(folder, "completions", "_busgen")},
		{"fish", "--no-execute", filepath.Join(folder, "completions", "busgen.fish")},
	} {
		if _, err := exec.LookPath(read[0]); err != nil {
			t.Logf("SKIPPED: there is no %s", read[0])
			continue
		}
		if out, err := exec.Command(read[0], read[1:]...).CombinedOutput(); err != nil || read[0] == "man" && !strings.Contains(string(out), "busgen dlq retry") {
			t.Errorf("%s: %v\n%s", read[0], err, out)
		}
	}
}
