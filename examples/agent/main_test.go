package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// An endpoint of ours stands in for OpenAI: it asks for the tool, and says what that told.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a request that is cut fails below
		message := `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"stock","arguments":"{\"item\":\"apple\"}"}}]}`
		reason := "tool_calls"
		if strings.Contains(string(body), `"role":"tool"`) && strings.Contains(string(body), `"content":"12"`) {
			message, reason = `{"role":"assistant","content":"There are 12 apples."}`, "stop"
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"index":0,"message":%s,"finish_reason":%q}]}`, message, reason)
	}))
	defer server.Close()
	os.Setenv("OPENAI_BASE_URL", server.URL+"/v1")
	defer os.Unsetenv("OPENAI_BASE_URL")
	main()
	// Output: There are 12 apples.
}
