//go:build linux

package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/pgtest"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/store/postgres"
)

// The cost of an append beside an insert of pgbench, in turns, on one server that waits for
// its disk; and how far 500 followers are behind. CLUSTER_SECONDS is how long each takes.
func TestAppendsBesidePgbench(t *testing.T) {
	needsCluster(t)
	seconds := number("CLUSTER_SECONDS", 1)
	server := pgtest.StartDurable(t)
	url := server.URL("appends")
	db := openAt(t, url)
	body := strings.Repeat("x", 300)
	peer := fmt.Sprintf("INSERT INTO peer (session, seq, time, type, digest, key, body) VALUES (:client_id, nextval('peer_seq'), 0, 'CallDone', sha256(int8send(currval('peer_seq'))), 'done/call-1', convert_to('%s', 'UTF8'));\n", body)
	execute(t, url, `CREATE SEQUENCE peer_seq; CREATE TABLE peer (session bigint, seq bigint, time bigint, type text, digest bytea, key bytea, body bytea, PRIMARY KEY (session, seq), UNIQUE (session, digest))`)
	a := appender{t: t, db: db, body: body}
	const rounds = 3
	var theirs, ours, theirRate, ourRate []float64
	for range rounds {
		theirs = append(theirs, float64(median(latencies(t, server, peer, seconds)).Microseconds()))
		ours = append(ours, float64(median(a.run(1, seconds)).Microseconds()))
		theirRate = append(theirRate, tps(t, server.Bench("appends", peer, 16, seconds)))
		ourRate = append(ourRate, float64(len(a.run(64, seconds)))/float64(seconds))
	}
	t.Logf("one session: an append takes %.0f µs (median), an insert of pgbench %.0f µs: %.2f of it %s",
		middle(ours), middle(theirs), middle(ratios(ours, theirs)), spread(ratios(ours, theirs)))
	t.Logf("64 sessions append %.0f events a second, 16 clients of pgbench insert %.0f: %.2f of it %s",
		middle(ourRate), middle(theirRate), middle(ratios(ourRate, theirRate)), spread(ratios(ourRate, theirRate)))
	a.follow(openAt(t, url), 500, seconds*rounds)
	t.Logf("an event with a body of %d bytes takes %d bytes of the database", len(body), query(t, url,
		"SELECT (pg_total_relation_size('events') + pg_total_relation_size('sessions')) / (SELECT count(*) FROM events)"))
}

func openAt(t *testing.T, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// query returns the number that a query selects.
func query(t *testing.T, url, sql string) (n int64) {
	t.Helper()
	if err := connect(t, url).QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	if _, err := connect(t, url).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// connect returns a connection that ends with the test.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// An appender appends events to sessions of its own.
type appender struct {
	t    *testing.T
	db   *postgres.DB
	body string
	n    atomic.Int64
}

// session begins a session.
func (a *appender) session() string {
	id := fmt.Sprintf("s%06d", a.n.Add(1))
	if _, err := a.db.Append(a.t.Context(), id, openmanus.Opened{}); err != nil {
		a.t.Fatal(err)
	}
	return id
}

// run appends to so many sessions at once, one event after the other, and returns how long
// each took.
func (a *appender) run(sessions, seconds int) []time.Duration {
	var mu sync.Mutex
	var all []time.Duration
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = a.session()
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	var running sync.WaitGroup
	for _, id := range ids {
		running.Go(func() {
			var took []time.Duration
			for n := 0; time.Now().Before(end); n++ {
				begun := time.Now()
				if _, err := a.db.Append(a.t.Context(), id, a.event(n)); err != nil {
					a.t.Error(err)
					return
				}
				took = append(took, time.Since(begun))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	running.Wait()
	return all
}

// event is one as models and tools make them: what was printed by a call.
func (a *appender) event(n int) openmanus.Body {
	return openmanus.CallDone{Call: fmt.Sprint("call-", n), Parts: llm.Parts{llm.Text{Text: a.body}}}
}

// follow has so many sessions followed through another DB, appends to them, and says how
// long after its append each event was seen.
func (a *appender) follow(other *postgres.DB, followers, seconds int) {
	ids := make([]string, followers)
	for i := range ids {
		ids[i] = a.session()
	}
	ctx, stop := context.WithCancel(a.t.Context())
	defer stop()
	var mu sync.Mutex
	var lags []time.Duration
	var following sync.WaitGroup
	var ready sync.WaitGroup
	ready.Add(followers)
	for _, id := range ids {
		following.Go(func() {
			for ev, err := range other.Follow(ctx, id, 0) {
				if err != nil {
					a.t.Error(err)
					return
				}
				if ev.Seq == 1 {
					ready.Done()
					continue
				}
				mu.Lock()
				lags = append(lags, time.Since(ev.Time)) // the clock is the same
				mu.Unlock()
			}
		})
	}
	ready.Wait()
	appended := 0
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); appended++ {
		if _, err := a.db.Append(a.t.Context(), ids[appended%followers], a.event(appended)); err != nil {
			a.t.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		mu.Lock()
		n := len(lags)
		mu.Unlock()
		if n == appended {
			break
		}
		if time.Now().After(end) {
			a.t.Fatalf("%d of %d events were followed", n, appended)
		}
	}
	stop()
	following.Wait()
	slices.Sort(lags)
	a.t.Logf("%d followers of another process saw %d events: half of them %v after they were appended, 99 of 100 %v, all %v", followers,
		appended, lags[appended/2].Round(10*time.Microsecond), lags[appended*99/100].Round(10*time.Microsecond), lags[appended-1].Round(10*time.Microsecond))
}

// latencies runs pgbench with one client, and returns how long each of its transactions took.
func latencies(t *testing.T, server *pgtest.Server, script string, seconds int) (all []time.Duration) {
	t.Helper()
	prefix := filepath.Join(server.Dir, "took")
	server.Bench("appends", script, 1, seconds, "--log", "--log-prefix", prefix)
	files, err := filepath.Glob(prefix + ".*")
	if err != nil || len(files) == 0 {
		t.Fatalf("the log of pgbench: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) { // client, number, µs, …
			us, err := strconv.Atoi(strings.Fields(line)[2])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, time.Duration(us)*time.Microsecond)
		}
		os.Remove(file)
	}
	return all
}

// tps reads the rate that pgbench printed.
func tps(t *testing.T, out string) float64 {
	t.Helper()
	_, after, _ := strings.Cut(out, "tps = ")
	rate, err := strconv.ParseFloat(strings.Fields(after + " -")[0], 64)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return rate
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func middle(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return r
}

// spread says between what ratios were.
func spread(all []float64) string {
	return fmt.Sprintf("[%.2f, %.2f]", slices.Min(all), slices.Max(all))
}
