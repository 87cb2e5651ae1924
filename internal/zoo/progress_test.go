package zoo_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/zoo"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// A server of one's own is asked how much of the prompt it has read, which llama.cpp tells
// (github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md), and who watches the
// session reads it. Others are not asked.
func TestProgressOfThePrompt(t *testing.T) {
	progress := `data: {"choices":[],"prompt_progress":{"total":5762,"cache":0,"processed":2535,"time_ms":900}}` + "\n\n" +
		`data: {"choices":[],"prompt_progress":{"total":5762,"cache":0,"processed":5762,"time_ms":1900}}` + "\n\n"
	s, watching := named(t, "vLLM"), make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		<-watching
		if strings.Contains(string(body), `"return_progress":true`) {
			io.WriteString(w, progress)
		}
		w.Write(s.Stream(zoo.Turn{Text: "Done."}))
	}))
	defer h.Close()
	ask := func(base string) llm.Model {
		m, err := providers.All().Named("compat").New(provider.Options{Model: "m", BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	elsewhere, err := ask("https://model.test/v1").(interface {
		Body(*llm.Request) ([]byte, error)
	}).Body(&llm.Request{})
	if err != nil || strings.Contains(string(elsewhere), "progress") {
		t.Errorf("it is sent %s, %v", elsewhere, err)
	}
	o := s.Open(t.Cleanup, nil)
	m := llm.Sound(llm.Retry(ask(h.URL+"/v1"), llm.RetryOptions{Attempts: 2, Backoff: time.Millisecond}), 0, nil)
	j, l := beginWith(t, o, m, func(*openmanus.Agent) {})
	var read []int
	seen := make(chan struct{})
	var begun sync.Once
	go func() {
		defer close(seen)
		for ev, err := range l.Watch(t.Context(), "s", 0) {
			if err != nil {
				return
			}
			begun.Do(func() { close(watching) })
			switch b := ev.Body.(type) {
			case openmanus.Typing:
				if b.Read > 0 {
					read = append(read, b.Read)
				}
			case openmanus.ModelSaid, openmanus.ModelFailed:
				return
			}
		}
	}()
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	<-seen
	if st, err := openmanus.Load(t.Context(), j, "s"); err != nil || st.Status() != openmanus.Finished || !slices.Equal(read, []int{43, 100}) {
		t.Errorf("it is %s, %v, and has read %v", st.Status(), err, read)
	}
}
