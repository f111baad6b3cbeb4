package browsertest

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// picture makes a picture of a page, if that was asked for.
func (b *browser) picture(name string, width int64, scheme string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	if name == "" {
		name = "now"
	}
	b.waitFor("a tab that listens", `[...document.querySelectorAll(".updates span")].every(s => s.textContent === "Live")`)
	var shot []byte
	b.run(chromedp.CaptureScreenshot(&shot))
	must(b.t, os.MkdirAll(*shots, 0o755))
	must(b.t, os.WriteFile(filepath.Join(*shots, fmt.Sprintf("page-%s-%d-%s.png", name, width, scheme)), small(b.t, shot), 0o644))
}

// small writes a picture with its most frequent colors only, so that it takes less space.
func small(t *testing.T, shot []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(shot))
	must(t, err)
	count := map[color.RGBA]int{}
	for y := range from.Bounds().Dy() {
		for x := range from.Bounds().Dx() {
			count[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++
		}
	}
	var colors []color.RGBA
	for c := range count {
		colors = append(colors, c)
	}
	slices.SortFunc(colors, func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range colors[:min(len(colors), 256)] {
		palette = append(palette, c)
	}
	to := image.NewPaletted(from.Bounds(), palette)
	draw.Draw(to, to.Bounds(), from, image.Point{}, draw.Src)
	var out bytes.Buffer
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to))
	return out.Bytes()
}
