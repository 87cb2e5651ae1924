// Bare is the floor: net/http posting bodies that were recorded before, one
// after the other, reading each answer to its end. Without bodies it ends at
// once, which is the floor for the start of a process.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

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
	for body := range bodies {
		if err := post(ctx, c.URL+"/chat/completions", body); err != nil {
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
