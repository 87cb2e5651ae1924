package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/doctor"
	"github.com/openmanus-go/openmanus/llm"
)

// An endpointBook is the file that keeps what endpoints have told of their models, by
// address and model. It is safe for concurrent use. If two processes
// learn something at the same moment, one of the two is lost, and learnt again.
type endpointBook struct {
	dir string // the data directory; "": nothing is kept
	mu  sync.Mutex
}

// A page is what the book has of one model.
type page struct {
	Asked time.Time     `json:"asked,omitzero"` // when the endpoint was asked last
	Facts []config.Fact `json:"facts,omitempty"`
}

// bookKey names a model in the book. It contains no password.
func bookKey(m config.Model) string { return m.Address() + " " + m.Name }

func (b *endpointBook) path() string { return filepath.Join(b.dir, "endpoints.json") }

// read returns all pages. A file that cannot be read is like none: what it had is learnt
// again.
func (b *endpointBook) read() map[string]page {
	pages := make(map[string]page)
	if b.dir == "" {
		return pages
	}
	if data, err := os.ReadFile(b.path()); err == nil && json.Unmarshal(data, &pages) != nil {
		return make(map[string]page)
	}
	return pages
}

// facts is the [config.Config].Learned.
func (b *endpointBook) facts(m config.Model) []config.Fact { return b.read()[bookKey(m)].Facts }

// change changes the page of a model.
func (b *endpointBook) change(m config.Model, change func(*page)) error {
	if b.dir == "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	pages := b.read()
	p := pages[bookKey(m)]
	change(&p)
	if pages[bookKey(m)] = p; p.Asked.IsZero() && len(p.Facts) == 0 {
		delete(pages, bookKey(m))
	}
	data, err := json.MarshalIndent(pages, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(b.dir, ".endpoints-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), b.path())
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// refused notes what a refusal told of a model. It reports whether that is new.
func (b *endpointBook) refused(m config.Model, key, value, why string) (isNew bool) {
	err := b.change(m, func(p *page) {
		same := func(f config.Fact) bool { return f.Refusal && f.Key == key }
		if i := slices.IndexFunc(p.Facts, same); i >= 0 && p.Facts[i].Value == value {
			return
		}
		isNew = true
		p.Facts = append(slices.DeleteFunc(p.Facts, same), config.Fact{Key: key, Value: value, From: "a refusal", Refusal: true, At: time.Now(), Why: clip.Text(why, 300)})
	})
	return isNew && err == nil
}

// told notes what an endpoint says of itself. A refusal of something that it now says
// otherwise was one of another day.
func (b *endpointBook) told(m config.Model, facts []config.Fact) error {
	return b.change(m, func(p *page) {
		p.Asked = time.Now()
		var kept []config.Fact
		for _, f := range p.Facts {
			again := slices.ContainsFunc(facts, func(g config.Fact) bool { return g.Key == f.Key })
			if f.Refusal && !(again && f.Key == "window") {
				kept = append(kept, f)
			}
		}
		p.Facts = append(kept, facts...)
	})
}

// learnFrom notes what an error of a model tells of it.
func (b *endpointBook) learnFrom(m config.Model, err error) {
	var e *llm.Error
	if !errors.As(err, &e) || m.BaseURL == "" {
		return
	}
	switch {
	case e.Kind == llm.Context:
		if fit, _ := llm.Overflow(e.Error()); fit > 0 && fit != m.Info.Window {
			b.refused(m, "window", strconv.Itoa(fit), e.Error())
		}
	case e.Images == llm.NoImages:
		b.refused(m, "vision", "false", e.Error())
	}
}

// freshFor is how long what an endpoint said of itself is believed without asking again.
const freshFor = 24 * time.Hour

// lookAt asks the endpoint of m what it says of itself, if nobody else can know it: one
// that the person names, whose window is neither configured nor known, or a server of
// this machine. It takes two seconds at most, at most once a day. It
// reports whether it asked, and returns a sentence for people, or "".
func (b *endpointBook) lookAt(ctx context.Context, cfg *config.Config, m config.Model) (asked bool, note string) {
	if b.dir == "" || !m.Provider.Lists || !m.Provider.Compatible || cfg.Set("models."+strconv.Quote(m.String())+".window") {
		return false, ""
	}
	if time.Since(b.read()[bookKey(m)].Asked) < freshFor {
		return false, ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	t, err := doctor.Probe(ctx, m.BaseURL, string(m.Key), m.Name)
	var status doctor.StatusError
	if err != nil && !errors.As(err, &status) {
		return false, "" // it is not there: the request will say so
	}
	if n := len(t.Models); n > 1 && !slices.Contains(t.Models, m.Name) && !slices.Contains(t.Models, m.Name+":latest") {
		note = fmt.Sprintf("%s does not list %s; it has %s", m.Address(), m.Name, strings.Join(t.Models[:min(12, n)], ", "))
	}
	return b.told(m, t.Facts) == nil, note // a data directory that cannot be written is reported elsewhere
}

// ProbeModel asks the endpoint of the model with the name, or of the default model, what it
// says of itself, and remembers it. The error names the address and where it was
// configured.
func ProbeModel(ctx context.Context, cfg *config.Config, name string) (config.Model, doctor.Told, error) {
	m, err := cfg.Model(name)
	if err != nil {
		return m, doctor.Told{}, mistake(err)
	}
	if !m.Provider.Lists || m.BaseURL == "" {
		return m, doctor.Told{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	t, err := doctor.Probe(ctx, m.BaseURL, string(m.Key), m.Name)
	if err != nil {
		from := m.BaseAt.String()
		if m.BaseAt.From == "" {
			from = "the provider's own"
		}
		return m, t, fmt.Errorf("%s does not say what it has: %w (the address is from %s)", m.Address(), err, from)
	}
	b := &endpointBook{dir: cfg.DataDir}
	if err := b.told(m, t.Facts); err != nil {
		return m, t, err
	}
	m, err = cfg.Model(name)
	return m, t, err
}

// ForgetModel drops what was learnt of the model with the name, or of the default model.
func ForgetModel(cfg *config.Config, name string) (config.Model, error) {
	m, err := cfg.Model(name)
	if err != nil {
		return m, mistake(err)
	}
	return m, (&endpointBook{dir: cfg.DataDir}).change(m, func(p *page) { *p = page{} })
}
