// Bare is the floor: net/http posting bodies that were recorded before, one
// after the other, reading each answer to its end. With a directory for a
// database it also writes a file and syncs it, as often as openmanus does and
// no more. Without bodies it ends at once, which is the floor for the start of
// a process.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/openmanus-go/openmanus/bench/peer"
	"github.com/openmanus-go/openmanus/bench/server"
)

func main() { peer.Main(run) }

func run(ctx context.Context, c peer.Config) error {
	if c.Replay == "" {
		return nil
	}
	f, err := os.Open(c.Replay)
	if err != nil {
		return err
	}
	defer f.Close()
	bodies, err := server.Load(f)
	if err != nil {
		return err
	}
	step := func() error { return nil }
	if c.DB != "" {
		log, err := os.Create(filepath.Join(c.DB, "log"))
		if err != nil {
			return err
		}
		defer log.Close()
		step = func() error { return writeDown(log) }
	}
	first := true
	for body := range bodies {
		if !first {
			if err := step(); err != nil {
				return err
			}
		}
		first = false
		if err := post(ctx, c.URL+"/chat/completions", body); err != nil {
			return err
		}
	}
	return nil
}

// writeDown appends as much as a reply and then as a result have, and syncs
// each.
func writeDown(log *os.File) error {
	for range 2 {
		if _, err := log.Write(make([]byte, 1024)); err != nil {
			return err
		}
		if err := log.Sync(); err != nil {
			return err
		}
	}
	return nil
}

func post(ctx context.Context, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+peer.Key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}
