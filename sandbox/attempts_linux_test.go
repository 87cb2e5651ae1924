package sandbox_test

import (
	"slices"
	"testing"

	"github.com/openmanus-go/openmanus/egress"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/sandbox/attempts"
)

// least is how many attempts there are to be.
const least = 72

// Nothing gets out of any cage.
func TestAttempts(t *testing.T) {
	if n := len(attempts.All()); n < least {
		t.Errorf("there are %d attempts, want %d", n, least)
	}
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) { hold(t, cageFor(t, kind)) })
	}
}

// hold fails unless every attempt is made, and held.
func hold(t *testing.T, cage attempts.Cage) {
	for _, r := range cage.Run(t.Context(), attempts.All()) {
		switch {
		case r.Fault != nil:
			t.Errorf("%s: %s: could not be tried: %v", r.Class, r.Name, r.Fault)
		case r.Breach != nil:
			t.Errorf("%s: %s: %v", r.Class, r.Name, r.Breach)
		}
	}
}

func cageFor(t *testing.T, kind sandbox.Kind) attempts.Cage {
	d, err := egress.New(egress.Policy{Mode: egress.Hosts, Hosts: []string{"allowed.example:*"}})
	if err != nil {
		t.Fatal(err)
	}
	return attempts.Cage{Kind: kind, Proxy: (&egress.Proxy{Dialer: d}).Serve}
}

// Without a cage the same attempts get out: they can fail. Only those are made
// here that harm nobody.
func TestAttemptsGetOutOfNoCage(t *testing.T) {
	harmless := []string{
		"a new file outside", "a file outside, overwritten", "through a symbolic link", "through a hard link", "a file outside", "our environment",
		"processes outside, listed", "a process outside, killed", "TCP to this machine's loopback", "UDP to this machine", "an abstract socket",
		"System V shared memory outside", "a hook of git", "a new git directory", "a shell's start-up file that is there",
		"editors' settings that are not there", "programs with the set-user-ID bit", "protected files, by the file tools", "an endless file",
	}
	var some []attempts.Attempt
	for _, a := range attempts.All() {
		if slices.Contains(harmless, a.Name) {
			some = append(some, a)
		}
	}
	if len(some) != len(harmless) {
		t.Fatalf("%d of %d attempts are there", len(some), len(harmless))
	}
	for _, r := range (attempts.Cage{Kind: sandbox.None}).Run(t.Context(), some) {
		if r.Breach == nil {
			t.Errorf("%s: it did not get out: %v", r.Name, r.Fault)
		}
	}
}
