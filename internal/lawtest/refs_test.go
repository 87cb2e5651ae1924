package lawtest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
)

func TestShortRefs(t *testing.T) {
	ref := func(digits string) openmanus.Ref {
		return openmanus.Ref("sha256:" + digits + strings.Repeat("0", 64-len(digits)))
	}
	refs := []openmanus.Ref{ref("0123456789"), ref("0123456780"), ref("fedcba98")}
	for i, want := range []string{"0123456789", "0123456780", "fedcba98"} {
		if got := openmanus.ShortRef(refs, refs[i]); got != want {
			t.Errorf("ShortRef(%s) = %s, want %s", refs[i], got, want)
		}
	}
	if got := openmanus.ShortRef(nil, "x"); got != "x" {
		t.Errorf("ShortRef of what is no ref: %q", got)
	}
	unknown := ref("77")
	for text, want := range map[string][]openmanus.Ref{
		"0123456789":         {refs[0]},
		"01234567":           {refs[0], refs[1]},
		"fedcba":             {refs[2]},
		"fedcb":              nil,
		" SHA256:FEDCBA98\n": {refs[2]},
		"":                   nil,
		"sha256:":            nil,
		"fedcba98zz":         nil,
		"fedcba99":           nil,
		string(unknown):      {unknown},
	} {
		if got := openmanus.FindRef(refs, text); !slices.Equal(got, want) {
			t.Errorf("FindRef(%q) = %v, want %v", text, got, want)
		}
	}
}
