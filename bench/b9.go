package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/bench/peer"
	"github.com/openmanus-go/openmanus/bench/stats"
)

// b9Streams are how many replies are on their way at once, and how.
var b9Streams = []struct {
	streams, chunks int
	pause           time.Duration // between the chunks of one
	rounds          int           // at most; 0 is as many as other tables have pairs
}{{1, 100, 2 * time.Millisecond, 0}, {20, 20, 50 * time.Millisecond, 0}, {100, 20, 50 * time.Millisecond, 0}, {1000, 4, 500 * time.Millisecond, 3}}

// b9 measures how much later a piece of a reply is in the hands of who reads
// it, because something stands between them and the model.
func (b *bench) b9(ctx context.Context) error {
	model, closer, err := listenSource()
	if err != nil {
		return err
	}
	defer closer.Close()
	proxy, stopProxy, err := b.serve(ctx, "proxy", model)
	if err != nil {
		return err
	}
	defer stopProxy()
	served, stopServed, err := b.serve(ctx, "served", model)
	if err != nil {
		return err
	}
	defer stopServed()
	t := table{head: []string{"replies at once", "rounds", "pieces", "direct p50 us", "proxy p50 us", "openmanus p50 us", "added, openmanus / proxy", "target", "met", "proxy p99 us", "openmanus p99 us", "target", "met"}}
	for _, k := range b9Streams {
		name := fmt.Sprintf("pieces-%d-%d", k.chunks, k.pause.Microseconds())
		var direct, via, events []float64
		var ratios, tails, proxyTails []float64
		rounds := b.pairs
		if k.rounds > 0 {
			rounds = min(rounds, k.rounds)
		}
		for range rounds {
			if err := b.patience.wait(ctx); err != nil {
				return err
			}
			d, err1 := flow(ctx, k.streams, k.chunks, nil, func(ctx context.Context, r *reader) error { return r.reply(ctx, model.url, name) })
			p, err2 := flow(ctx, k.streams, k.chunks, nil, func(ctx context.Context, r *reader) error { return r.reply(ctx, proxy+"/v1", name) })
			e, err3 := flow(ctx, k.streams, k.chunks,
				func(ctx context.Context, r *reader) error { return r.open(ctx, served) },
				func(ctx context.Context, r *reader) error { return r.session(ctx, name) })
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			direct, via, events = append(direct, stats.Median(d)), append(via, stats.Median(p)), append(events, stats.Median(e))
			ratios = append(ratios, (stats.Median(e)-stats.Median(d))/(stats.Median(p)-stats.Median(d)))
			tails, proxyTails = append(tails, stats.Quantile(e, 0.99)), append(proxyTails, stats.Quantile(p, 0.99))
		}
		ratio, tail := stats.Estimated(ratios), stats.Estimated(tails)
		row := []any{k.streams, rounds, k.streams * k.chunks, fmt.Sprintf("%.0f", stats.Median(direct)), fmt.Sprintf("%.0f", stats.Median(via)),
			fmt.Sprintf("%.0f", stats.Median(events)), interval(ratio, "%.1f"), "<= 3", ratio.AtMost(3), fmt.Sprintf("%.0f", stats.Median(proxyTails)), interval(tail, "%.0f"), "-", "-"}
		if k.streams == 100 {
			row[11], row[12] = "<= 2000", tail.AtMost(2000)
		}
		t.row(row...)
	}
	t.print(b.out, "B9: from the model's piece to its reader; every piece once and in order, or it is an error")
	return nil
}

// serve starts a peer that serves, and returns its address.
func (b *bench) serve(ctx context.Context, program string, model *source) (address string, stop func(), err error) {
	dir, err := os.MkdirTemp(b.dir, "db-")
	if err != nil {
		return "", nil, err
	}
	args := []string{"-url", model.url, "-model", "pieces", "-db", dir}
	if b.profiles != "" {
		args = append(args, "-cpuprofile", filepath.Join(b.profiles, program+".prof"))
	}
	cmd := exec.CommandContext(ctx, b.program(program), args...)
	cmd.Env, cmd.Stderr = childEnv(), os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { cmd.Process.Signal(os.Interrupt); cmd.Wait() }
	if address, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		stop()
		return "", nil, fmt.Errorf("%s printed no address: %w", program, err)
	}
	return strings.TrimSpace(address), stop, nil
}

// flow has n readers read a reply of so many pieces at once, once all of them
// are prepared, and returns how long each piece was on its way, in us.
func flow(ctx context.Context, n, pieces int, prepare, read func(context.Context, *reader) error) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * n}}
	defer client.CloseIdleConnections()
	readers := make([]reader, n)
	for i := range readers {
		readers[i].client = client
	}
	if prepare != nil {
		if err := together(ctx, readers, prepare); err != nil {
			return nil, err
		}
	}
	err := together(ctx, readers, func(ctx context.Context, r *reader) error {
		if err := read(ctx, r); err != nil || len(r.took) == pieces {
			return err
		}
		return fmt.Errorf("%d pieces came, of %d", len(r.took), pieces)
	})
	var took []float64
	for _, r := range readers {
		took = append(took, r.took...)
	}
	return took, err
}

// together does something with all readers at once.
func together(ctx context.Context, readers []reader, do func(context.Context, *reader) error) error {
	errs := make([]error, len(readers))
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() { errs[i] = do(ctx, &readers[i]) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// A reader reads one reply.
type reader struct {
	client *http.Client
	took   []float64
	last   int64

	one    string        // the session that it reads, if it reads one
	events io.ReadCloser // of that
}

// reply reads a reply as the model's API has it.
func (r *reader) reply(ctx context.Context, base, want string) error {
	body, err := r.post(ctx, base+"/chat/completions", peer.Key, map[string]any{"model": "pieces", "stream": true, "messages": []any{map[string]any{"role": "user", "content": want}}})
	if err != nil {
		return err
	}
	defer body.Close()
	return r.read(body, "data: [DONE]")
}

// open opens a session and follows it.
func (r *reader) open(ctx context.Context, base string) error {
	body, err := r.post(ctx, base+"/api/v1/sessions", peer.Token, map[string]any{})
	if err != nil {
		return err
	}
	defer body.Close()
	var s struct{ ID string }
	if err := json.NewDecoder(body).Decode(&s); err != nil {
		return err
	}
	r.one = base + "/api/v1/sessions/" + s.ID
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.one+"/events", nil)
	if err != nil {
		return err
	}
	r.events, err = r.do(req, peer.Token)
	return err
}

// session reads a reply as what is typed in a session.
func (r *reader) session(ctx context.Context, want string) error {
	defer r.events.Close()
	said, err := r.post(ctx, r.one+"/messages", peer.Token, map[string]any{"id": "1", "text": want})
	if err != nil {
		return err
	}
	said.Close()
	return r.read(r.events, "event: model_said")
}

func (r *reader) post(ctx context.Context, url, token string, body any) (io.ReadCloser, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return r.do(req, token)
}

func (r *reader) do(req *http.Request, token string) (io.ReadCloser, error) {
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		why, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		resp.Body.Close()
		return nil, fmt.Errorf("%s %s: %s: %s", req.Method, req.URL, resp.Status, why)
	}
	return resp.Body, nil
}

// sentAt finds the pieces in a line: each is when it was sent.
var sentAt = regexp.MustCompile(`@(\d+);`)

// read reads lines until the one that is the end.
func (r *reader) read(body io.Reader, end string) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		now := sinceStart()
		if lines.Text() == end {
			return nil
		}
		for _, m := range sentAt.FindAllSubmatch(lines.Bytes(), -1) {
			sent, err := strconv.ParseInt(string(m[1]), 10, 64)
			if err != nil || sent <= r.last {
				return fmt.Errorf("a piece sent at %s came after one sent at %d", m[1], r.last)
			}
			r.last = sent
			r.took = append(r.took, float64(now-sent)/1000)
		}
	}
	return errors.Join(lines.Err(), errors.New("it broke off"))
}
