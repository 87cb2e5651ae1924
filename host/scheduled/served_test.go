package scheduled_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host/scheduled"
	"github.com/openmanus-go/openmanus/internal/schedule"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm/providers"
	"github.com/openmanus-go/openmanus/server"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// counted are runs that end at once, by schedule.
type counted struct{ old, now atomic.Int64 }

func (c *counted) Start(_ context.Context, name string, _ schedule.Plan, _ schedule.Due) error {
	map[string]*atomic.Int64{"old": &c.old, "new": &c.now}[name].Add(1)
	return &schedule.Refused{Err: errors.New("it is only counted")}
}

func (*counted) Ended(context.Context, string, schedule.Plan, schedule.Due) (*schedule.Ran, error) {
	return nil, nil
}

func (*counted) Interrupt(context.Context, schedule.Due) error { return nil }

// A schedule that is added to a server runs from then on and stands in the configuration,
// whose other lines stay; one that is removed runs no more. An error names the field.
func TestServedSchedules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	const before = "# mine\n[schedules.old]\nevery = \"1h\" # often enough\ntask = \"Look\"\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	env := func(name string) (string, bool) { return home, name == "HOME" }
	cfg, _, err := config.Load(config.Sources{File: file, Dir: t.TempDir(), Env: env, Providers: providers.All()})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		runs := new(counted)
		s, err := scheduled.NewService(scheduled.Options{
			Runner: &schedule.Runner{Journal: new(journal.Memory), Runs: runs}, Config: cfg, File: file, Lookup: env,
			MayChoose: func(string) error { return server.ErrLocalModel },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.Run(ctx); close(ended) }()
		for want, n := range map[string]server.NewSchedule{
			"name: ":  {Name: "No Name", Task: "x", Every: "1h"},
			"cron: ":  {Name: "a", Task: "x", Cron: "61 * * * *"},
			"every: ": {Name: "a", Task: "x", Every: "1s"},
			"zone: ":  {Name: "a", Task: "x", Every: "1h", Zone: "Mars/Olympus"},
			"model: ": {Name: "a", Task: "x", Every: "1h", Model: "scripted:/etc/passwd"},
		} {
			f := (*server.FieldError)(nil)
			if err := s.Add(ctx, "local", n); !errors.As(err, &f) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%+v: %v", n, err)
			}
		}
		if err := s.Add(ctx, "local", server.NewSchedule{Name: "old", Task: "x", Every: "1h"}); !errors.Is(err, server.ErrScheduleExists) {
			t.Error(err)
		}
		if err := s.Add(ctx, "local", server.NewSchedule{Name: "new", Task: "Say \"hello\",\n\tand go on", Every: "10m", Approve: openmanus.ApproveAsk}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(65 * time.Minute)
		synctest.Wait()
		if now, old := runs.now.Load(), runs.old.Load(); now != 6 || old != 1 {
			t.Errorf("they ran %d and %d times", now, old)
		}
		all, err := s.Schedules(ctx, "local")
		if err != nil || len(all) != 2 || all[0].Name != "new" || all[0].Task != "Say \"hello\",\n\tand go on" {
			t.Errorf("%+v, %v", all, err)
		}
		if all, err := s.Schedules(ctx, "ann"); err != nil || len(all) > 0 {
			t.Errorf("another user has %+v, %v", all, err)
		}
		if err := s.Remove(ctx, "ann", "new"); !errors.Is(err, server.ErrNoSchedule) {
			t.Error(err)
		}
		if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), before) || !strings.Contains(string(text), "[schedules.new]") {
			t.Errorf("the file is %q, %v", text, err)
		}
		if err := s.Remove(ctx, "local", "new"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if now, old := runs.now.Load(), runs.old.Load(); now != 6 || old != 2 {
			t.Errorf("after one was removed they ran %d and %d times", now, old)
		}
		if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != strings.TrimSpace(before) {
			t.Errorf("the file is %q, %v", text, err)
		}
		cancel()
		<-ended
	})
}
