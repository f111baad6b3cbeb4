package parse_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
)

// secrets are files that are no catalogues. None of their words may be seen.
var secrets = map[string]string{
	"passwd":      "root:hunter2:0:0:hunter2:/root:/bin/bash\nhunter2:x:1:1::/:/bin/sh\n",
	"shadow":      "root:$6$hunter2:19000:0:99999:7:::\n\tdaemon:*hunter2:\n",
	".env":        "PASSWORD=hunter2\nTOKEN=hunter2\n",
	"config.yaml": "password: hunter2\nhunter2: { user: hunter2 }\n",
	"key.json":    `{"type": "service_account", "hunter2": "hunter2"}`,
	"list.yaml":   "- hunter2\n- [hunter2]\n",
	"broken.yaml": "password: \"hunter2\nother: *hunter2\n",
	"anchor.yaml": "password: *hunter2\n",
	"tag.yaml":    "--- !hunter2\nhunter2\n",
	"two.yaml":    "password: hunter2\n---\npassword: hunter2\n",
	"key.der":     "hunter2\x00\xff\nhunter2\x01\n",
	"lines":       "hunter2\r\n\thunter2\r\n",
}

func TestNothingIsShownOfAFileThatIsNoCatalogue(t *testing.T) {
	for name, secret := range secrets {
		for what, root := range map[string]string{
			"included":         "version: 1\npackage: p\ninclude: [../elsewhere/" + name + "]\nevents: { a.b: {} }\n",
			"included, a link": "version: 1\npackage: p\ninclude: [link.yaml]\nevents: { a.b: {} }\n",
			"imported":         "version: 1\npackage: p\nimports: { other: ../elsewhere/" + name + " }\nevents: { a.b: {} }\n",
			"the root, a link": "",
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				folder(t, map[string]string{"shop/events.yaml": root, "elsewhere/" + name: secret})
				t.Chdir("shop")
				link := "link.yaml"
				if root == "" {
					link = "events.yaml"
					os.Remove(link)
				}
				if err := os.Symlink(filepath.Join("..", "elsewhere", name), link); err != nil {
					t.Skip(err)
				}
				_, findings, err := parse.Load("events.yaml")
				if err != nil || len(findings) == 0 {
					t.Fatalf("%v, and %d findings", err, len(findings))
				}
				var shown strings.Builder
				findings.Render(&shown)
				for _, f := range findings { // what other forms show
					shown.WriteString(f.Message + f.Hint + f.Line)
					for _, rel := range f.Related {
						shown.WriteString(rel.Message + rel.Line)
					}
				}
				if strings.Contains(shown.String(), "hunter2") {
					t.Errorf("it shows what is in the file:\n%s", &shown)
				}
				if !strings.Contains(shown.String(), name) && what != "the root, a link" && !strings.Contains(shown.String(), "link.yaml") {
					t.Errorf("it does not name the file:\n%s", &shown)
				}
			})
		}
	}
}

func TestACatalogueThatIsBrokenIsShown(t *testing.T) {
	for _, text := range []string{
		"# the parts of payments\nversion: 1\nevents:\n  a.b: { payload: [ }\n",
		"{\"version\": 1,\n  \"events\": ] }",
		"version: 1\nevnts: {}\n",
	} {
		folder(t, map[string]string{"events.yaml": "version: 1\npackage: p\ninclude: [part.yaml]\nevents: { c.d: {} }\n", "part.yaml": text})
		_, findings, err := parse.Load("events.yaml")
		if err != nil || len(findings) == 0 {
			t.Fatalf("%v, and %d findings", err, len(findings))
		}
		if f := findings[len(findings)-1]; f.Pos.File != "part.yaml" || f.Line == "" {
			t.Errorf("no line is shown with %s", f)
		}
	}
}
