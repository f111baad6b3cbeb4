package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/busgen/busgen/internal/short"
)

// The shop stays open until it is interrupted, answers meanwhile, and has lost nothing.
func TestAShopThatServesAnswersUntilItIsInterrupted(t *testing.T) {
	short.Visit(t, "it runs programs")
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	db := filepath.Join(t.TempDir(), "shop.db")
	address := regexp.MustCompile(`http://(\S+)/operators/`)
	var said, stderr bytes.Buffer
	answers := func(host, path string) (int, string) {
		request, err := http.NewRequest(http.MethodGet, "http://"+string(address.FindSubmatch(said.Bytes())[1])+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			request.Host = host
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Error(err)
		}
		return response.StatusCode, string(body)
	}
	asked := false
	out := writerFunc(func(p []byte) (int, error) {
		said.Write(p)
		if !asked && address.Match(said.Bytes()) {
			asked = true
			defer interrupt()
			for path, wanted := range map[string]string{"/metrics": `busgen_type_published_total{type="order.placed"} `, "/operators/": "Dead letters"} {
				if status, body := answers("", path); status != http.StatusOK || !bytes.Contains([]byte(body), []byte(wanted)) {
					t.Errorf("%s: %d, and not %q:\n%s", path, status, wanted, body)
				}
				if status, _ := answers("evil.example", path); status != http.StatusForbidden {
					t.Errorf("%s under the name of another machine: %d", path, status)
				}
			}
		}
		return len(p), nil
	})
	if status := run(ctx, []string{"-db", db, "-orders", "20", "-serve", "127.0.0.1:0"}, out, &stderr); status != 130 || !asked {
		t.Fatalf("exit status %d, asked %t\n%s%s", status, asked, &said, &stderr)
	}
	openShop(t, 0, "-db", db, "-orders", "2") // which proves that nothing is missing
}

func TestAShopThatCannotServeSaysSo(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	db := filepath.Join(t.TempDir(), "shop.db")
	if status := run(t.Context(), []string{"-db", db, "-serve", "127.0.0.1:70000"}, &stdout, &stderr); status != 1 {
		t.Errorf("exit status %d", status)
	}
	wantText(t, stderr.String(), "shop: -serve 127.0.0.1:70000: ")
}
