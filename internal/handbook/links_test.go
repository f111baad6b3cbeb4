package handbook

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each link within the repository leads to a file, and to a heading of it.
func TestTheLinksOfPagesLeadSomewhere(t *testing.T) {
	root, err := Root()
	must(t, err)
	pages, err := Pages(root)
	must(t, err)
	pages = append(pages, "llms.txt")
	texts := map[string]string{}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
		must(t, err)
		texts[page] = string(text)
	}
	checked := 0
	for page, text := range texts {
		for _, to := range links(text) {
			checked++
			file, heading, _ := strings.Cut(to, "#")
			target := page
			if file != "" {
				target = path.Join(path.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s, and there is no file %s", page, to, target)
			} else if _, isPage := texts[target]; isPage && heading != "" && !headings(texts[target])[heading] {
				t.Errorf("%s links to %s, and %s has no such heading", page, to, target)
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d links were found", checked)
	}
}

// llms.txt has every page of docs.
func TestTheListForAssistantsHasEveryPage(t *testing.T) {
	root, err := Root()
	must(t, err)
	list, err := os.ReadFile(filepath.Join(root, "llms.txt"))
	must(t, err)
	pages, err := Pages(root)
	must(t, err)
	for _, page := range pages {
		if strings.HasPrefix(page, "docs/") && !strings.Contains(string(list), "]("+page+")") {
			t.Errorf("llms.txt does not name %s", page)
		}
	}
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inCode   = regexp.MustCompile("(?s)\n```.*?\n```|`[^`\n]*`")
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// links are those of a page that do not lead out of the repository.
func links(text string) (all []string) {
	for _, found := range link.FindAllStringSubmatch(inCode.ReplaceAllString(text, "`code`"), -1) {
		if to := found[1]; !strings.Contains(to, ":") {
			all = append(all, to)
		}
	}
	return all
}

// headings are those of a page as GitHub names them in addresses.
func headings(text string) map[string]bool {
	all := map[string]bool{}
	eachLine(text, func(_ int, line, block string) {
		level := strings.TrimLeft(line, "#")
		if title, isHeading := strings.CutPrefix(level, " "); isHeading && level != line && block == prose {
			all[strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")] = true
		}
	})
	return all
}

func TestALinkThatLeadsNowhereIsFound(t *testing.T) {
	page := "# A `*sql.DB` on the file\n\nSee [this](x.md#y), [`code`](z.md), [out](https://example.org), `[not](one.md)`.\n\n```md\n[nor](this.md)\n# No heading\n```\n"
	if got := strings.Join(links(page), " "); got != "x.md#y z.md" {
		t.Errorf("the links are %s", got)
	}
	if got := headings(page); len(got) != 1 || !got["a-sqldb-on-the-file"] {
		t.Errorf("the headings are %v", got)
	}
}
