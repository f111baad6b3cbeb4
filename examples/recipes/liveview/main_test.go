package main

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnOrderIsShownInEveryOpenBrowser(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, filepath.Join(t.TempDir(), "liveview.db"), listener) }()
	url := "http://" + listener.Addr().String()

	order := func(id string) {
		t.Helper()
		answer, err := http.Post(url+"/orders", "application/json", strings.NewReader(`{"order_id": "`+id+`", "email": "ada@example.org", "cents": 500}`))
		if err != nil || answer.StatusCode != http.StatusAccepted {
			t.Fatal(answer, err)
		}
		answer.Body.Close()
	}
	order("before")
	var browsers []*bufio.Scanner
	for range 2 {
		answer, err := http.Get(url + "/live")
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(answer, err)
		}
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		if lines.Scan(); lines.Text() != ": open" {
			t.Fatal(lines.Text())
		}
		browsers = append(browsers, lines)
	}
	order("after")
	for _, lines := range browsers {
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
		}
		if got := lines.Text(); got != `data: {"cents":500,"order_id":"after"}` {
			t.Errorf("a browser is sent %s", got)
		}
	}

	// The program ends although browsers are still there.
	end()
	if err := <-ended; err != nil {
		t.Error("it ends with", err)
	}
}
