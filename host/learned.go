package host

import (
	"cmp"
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

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/doctor"
	"github.com/openmanus-go/openmanus/internal/filelock"
	"github.com/openmanus-go/openmanus/internal/wholefile"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// An endpointBook is the file that keeps what endpoints have told of their models, by
// address and model. It is safe for concurrent use, also by several processes.
type endpointBook struct {
	dir string // the data directory; "": nothing is kept
	mu  sync.Mutex
}

// A page is what the book has of one model.
type page struct {
	Asked  time.Time     `json:"asked,omitzero"`  // when the endpoint said last what it has, or that it does not say it
	Failed time.Time     `json:"failed,omitzero"` // when it was asked last in vain
	Facts  []config.Fact `json:"facts,omitempty"`

	// Forgotten is when a person had all of it dropped. Processes that run drop then what they
	// have found out themselves.
	Forgotten time.Time `json:"forgotten,omitzero"`
}

// equal reports whether p and q say the same.
func (p page) equal(q page) bool {
	return p.Asked.Equal(q.Asked) && p.Failed.Equal(q.Failed) && p.Forgotten.Equal(q.Forgotten) && slices.Equal(p.Facts, q.Facts)
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
	if data, err := os.ReadFile(b.path()); err == nil && json.Unmarshal(data, &pages) != nil || pages == nil { // null
		return make(map[string]page)
	}
	return pages
}

// facts is the [config.Config].Learned.
func (b *endpointBook) facts(m config.Model) []config.Fact { return b.read()[bookKey(m)].Facts }

// change changes the page of a model. A page that stays as it was is not written.
func (b *endpointBook) change(m config.Model, change func(*page)) error {
	if b.dir == "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Lock(b.path() + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	pages := b.read()
	was := pages[bookKey(m)]
	p := was
	p.Facts = slices.Clone(was.Facts)
	change(&p)
	if p.equal(was) {
		return nil
	}
	if pages[bookKey(m)] = p; p.equal(page{}) {
		delete(pages, bookKey(m))
	}
	return wholefile.WriteJSON(b.path(), pages)
}

// found notes what was found out about a model though its endpoint does not say so. It
// reports whether that is new.
func (b *endpointBook) found(m config.Model, f config.Fact) (isNew bool) {
	err := b.change(m, func(p *page) {
		same := func(g config.Fact) bool { return g.Why != "" && g.Key == f.Key }
		if i := slices.IndexFunc(p.Facts, same); i >= 0 && p.Facts[i].Value == f.Value && !f.Refusal {
			return
		}
		isNew = true
		f.At, f.Why = time.Now(), clip.Text(f.Why, 300)
		p.Facts = append(slices.DeleteFunc(p.Facts, same), f)
	})
	return isNew && err == nil
}

// without is the key of the fact that an endpoint refuses fields of a request: its value
// names them.
const without = "without"

// refused notes that the endpoint of m refuses a field of a request.
func (b *endpointBook) refused(m config.Model, field string, err error) {
	fields := b.refusals(m)
	if !slices.Contains(fields, field) {
		fields = append(fields, field)
	}
	b.found(m, config.Fact{Key: without, Value: strings.Join(fields, " "), From: "a refusal", Refusal: true, Why: err.Error()})
}

// refusals returns the fields of a request that the endpoint of m was found to refuse this
// week: it may be another version since.
func (b *endpointBook) refusals(m config.Model) []string {
	for _, f := range b.facts(m) {
		if f.Key == without && time.Since(f.At) < 7*freshFor {
			return strings.Fields(f.Value)
		}
	}
	return nil
}

// told notes what an endpoint says of itself. It takes the place of what was found out about
// the same before, such as by a refusal.
func (b *endpointBook) told(m config.Model, facts []config.Fact) error {
	return b.change(m, func(p *page) {
		p.Asked, p.Failed = time.Now(), time.Time{}
		var kept []config.Fact
		for _, f := range p.Facts {
			again := slices.ContainsFunc(facts, func(g config.Fact) bool { return g.Key == f.Key })
			if f.Why != "" && !again {
				kept = append(kept, f)
			}
		}
		p.Facts = append(kept, facts...)
	})
}

// notTold notes that an endpoint did not say what it has, because of err. It keeps
// the facts that are known.
func (b *endpointBook) notTold(m config.Model, err error) error {
	return b.change(m, func(p *page) {
		if doctor.SaysNothing(err) {
			p.Asked, p.Failed = time.Now(), time.Time{}
		} else {
			p.Failed = time.Now()
		}
	})
}

// learnFrom notes what an error of a model tells of its window, if that is smaller than
// the one that is known.
func (b *endpointBook) learnFrom(m config.Model, err error) {
	var e *llm.Error
	if !errors.As(err, &e) || m.BaseURL == "" || e.Kind != llm.Context {
		return
	}
	if fit, _ := llm.Overflow(e.Error()); fit > 0 && (m.Info.Window == 0 || fit < m.Info.Window) {
		b.found(m, config.Fact{Key: "window", Value: strconv.Itoa(fit), From: "a refusal", Refusal: true, Why: e.Error()})
	}
}

// leastRefused is the fewest tokens of a request that is taken for too large without a number:
// no window is smaller.
const leastRefused = 1024

// sized returns err, and if it refuses req as too large and does not say what fits, with words
// that do: less than req has, at least by an eighth, and a reply. So the session learns, and so
// do later ones. w is what was known, and c counts where the provider has reported no count.
// Nobody knows how many tokens a picture has, so a request with one teaches nothing.
func sized(req *llm.Request, err error, w openmanus.Window, c llm.Counter) error {
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.Context {
		return err
	}
	fit, had := llm.Overflow(e.Error())
	if fit > 0 || !llm.TooLong(e.Error()) {
		return err
	}
	if had = cmp.Or(had, req.Size); had == 0 {
		had = llm.CountHead(c, req.System, req.Tools)
		for _, m := range req.Messages {
			had += llm.Count(c, m)
		}
	}
	if had < leastRefused || slices.ContainsFunc(req.Messages, llm.Message.HasBlobs) {
		return err
	}
	room := had - had/8
	fit = room + min(cmp.Or(w.Reply, had/8), room)
	told := *e
	told.Err = fmt.Errorf("%w (later ones have at most %d tokens, with the reply; it has about %d)", e.Err, fit, had)
	return &told
}

// freshFor is how long what an endpoint said of itself is believed without asking again,
// and againAfter when one is asked again that could not be asked.
const (
	freshFor   = 24 * time.Hour
	againAfter = 10 * time.Minute
)

// lookAt asks the endpoint of m what it says of itself. It asks only an endpoint that speaks
// as OpenAI does, and only if neither the configuration nor the catalogue has the window of
// the model. It takes two seconds at most, at most once a day, or once in ten
// minutes if that fails. It reports whether the endpoint said something, and returns a
// sentence for people, or "".
func (b *endpointBook) lookAt(ctx context.Context, cfg *config.Config, m config.Model) (told bool, note string) {
	if b.dir == "" || !m.Provider.Lists || !m.Provider.Compatible {
		return false, ""
	}
	if from := cfg.InfoAt(m, "window").From; m.Info.Window != 0 && from != provider.Endpoint {
		return false, ""
	}
	if p := b.read()[bookKey(m)]; time.Since(p.Asked) < freshFor || time.Since(p.Failed) < againAfter {
		return false, ""
	}
	quick, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	t, err := doctor.Probe(quick, m.BaseURL, string(m.Key), m.Name)
	if err != nil {
		if ctx.Err() == nil {
			_ = b.notTold(m, err) // a data directory that cannot be written is reported elsewhere
		}
		var there *doctor.ElsewhereError
		if errors.As(err, &there) {
			note = fmt.Sprintf("%s: %v (the address is from %s)", m.Address(), err, m.BaseAt)
		}
		return false, note // of anything else the request will say what is wrong
	}
	if n := len(t.Models); n > 1 && !slices.Contains(t.Models, m.Name) && !slices.Contains(t.Models, m.Name+":latest") {
		note = fmt.Sprintf("%s does not list %s; it has %s", m.Address(), m.Name, strings.Join(t.Models[:min(12, n)], ", "))
	}
	return b.told(m, t.Facts) == nil, note
}

// modelNamed returns the model with the name; "" stands for the one that new sessions have.
func modelNamed(ctx context.Context, cfg *config.Config, name string) (config.Model, error) {
	if name != "" {
		return cfg.Model(name)
	}
	return cfg.Choose(func(base string, key config.Secret) ([]string, error) { return served(ctx, base, key) })
}

// ProbeModel asks the endpoint of the model with the name, or of the one that new sessions have,
// what it says of itself, and remembers it. An endpoint may say nothing and have told something
// by refusals: then [doctor.Told].Silent says so. The error names the address and where it was
// configured.
func ProbeModel(ctx context.Context, cfg *config.Config, name string) (config.Model, doctor.Told, error) {
	m, err := modelNamed(ctx, cfg, name)
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
		told := fmt.Errorf("%s does not say what it has: %w (the address is from %s)", m.Address(), err, from)
		if doctor.SaysNothing(err) && len(cfg.Facts(m)) > 0 {
			t.Silent, told = told.Error(), nil
		}
		return m, t, told
	}
	b := &endpointBook{dir: cfg.DataDir}
	if err := b.told(m, t.Facts); err != nil {
		return m, t, err
	}
	m, err = modelNamed(ctx, cfg, name)
	return m, t, err
}

// ForgetModel drops what was learnt of the model with the name, or of the one that new sessions
// have.
func ForgetModel(ctx context.Context, cfg *config.Config, name string) (config.Model, error) {
	m, err := modelNamed(ctx, cfg, name)
	if err != nil {
		return m, mistake(err)
	}
	return m, (&endpointBook{dir: cfg.DataDir}).change(m, func(p *page) { *p = page{Forgotten: time.Now()} })
}

// forget drops what the process of h has found out about m itself, if a person had it dropped
// since it was asked last, here or in another process.
func forget(h *Host, m config.Model) {
	at := h.book.read()[bookKey(m)].Forgotten
	was, known := h.forgotten.Swap(bookKey(m), at)
	if at.IsZero() || known && at.Equal(was.(time.Time)) {
		return
	}
	h.refused.Delete(learner(m))
	h.toolless.Delete(learner(m))
	h.seen.Delete(learner(m))
	h.renewModels()
}

// learner names what this process finds out about a model.
func learner(m config.Model) string { return limiterName(m) + " " + m.String() }
