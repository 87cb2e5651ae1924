package sandbox_test

import (
	"testing"

	"github.com/openmanus-go/openmanus/egress"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/sandbox/attempts"
)

// least is how many attempts there are to be.
const least = 72

// Nothing gets out of any cage.
func TestAttempts(t *testing.T) {
	all := attempts.All()
	if len(all) < least {
		t.Errorf("there are %d attempts, want %d", len(all), least)
	}
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			for _, r := range cageFor(t, kind).Run(t.Context(), all) {
				switch {
				case r.Fault != nil:
					t.Errorf("%s: %s: could not be tried: %v", r.Class, r.Name, r.Fault)
				case r.Breach != nil:
					t.Errorf("%s: %s: %v", r.Class, r.Name, r.Breach)
				}
			}
		})
	}
}

func cageFor(t *testing.T, kind sandbox.Kind) attempts.Cage {
	d, err := egress.New(egress.Policy{Mode: egress.Hosts, Hosts: []string{"allowed.example:*"}})
	if err != nil {
		t.Fatal(err)
	}
	return attempts.Cage{Kind: kind, Proxy: (&egress.Proxy{Dialer: d}).Serve}
}
