package lawtest_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// top is the root of the module.
const top = "../.."

const module = "github.com/openmanus-go/openmanus"

// A floor is a package, or all those below a folder ("llm/..."), and what it
// may import besides the standard library. Imports point down only: adapters
// do not know each other, and only cmd/openmanus puts things together.
//
// A new line needs a reason. Without one, what an adapter needs of another is
// passed in as a small interface.
type floor struct {
	pkg string
	may map[string]string // import, or "path/..." → why
	not []string          // of the standard library
}

const (
	speaks    = "the vocabulary of the core"
	encodes   = "what journals are made of"
	drives    = "what drives sessions"
	models    = "the vocabulary of models"
	worlds    = "the vocabulary of workspaces"
	helpers   = "programs of the machine, found where no agent writes"
	platform  = "what the standard library does not know of the system"
	serves    = "what is known of providers"
	acts      = "what a person may do"
	shows     = "what a session shows people"
	shared    = "what the adapters of models have in common"
	byHand    = "schemas that are written by hand"
	anExample = "an example may use all that is public"
	untrusted = "files that others may have put there"
	replaces  = "a file of its own is replaced in one step"
	sighted   = "what a call has seen, and so may replace"
	casts     = "test data that a person can write by hand"
)

// A storey is a floor of the building: packages on it import from those below.
type storey struct {
	name, what string
	floors     []floor
}

// storeys are all floors, from the bottom up. docs/design.md has this table.
var storeys = []storey{
	{"0", "vocabularies: the standard library and almost nothing else", vocabularies},
	{"1", "the core: it reaches the world only through what it is given", core},
	{"2", "adapters: one dependency each; they do not import each other", adapters},
	{"3", "agents: configured from what floor 2 offers", configured},
	{"–", "suites for implementers, which belong to what they test", suites},
	{"4", "surfaces: they append, wake and follow", surfaces},
	{"5", "assembly: they turn a configuration into running agents", assembly},
	{"6", "programs: the only places that read flags", programs},
}

// floors are those of all storeys.
var floors = func() (all []floor) {
	for _, s := range storeys {
		all = append(all, s.floors...)
	}
	return all
}()

var vocabularies = []floor{
	{pkg: "llm", not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "llm/provider", may: map[string]string{module + "/llm": models}, not: []string{"net/http", "os", "os/exec"}},
	{pkg: "llm/catalogue", may: map[string]string{module + "/llm/provider": serves}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "llm/tokens", may: map[string]string{
		module + "/llm":                     models,
		module + "/llm/tokens/internal/bpe": "the vocabularies, and how text is cut",
	}},
	{pkg: "llm/tokens/internal/bpe", not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "llm/tokens/internal/bpe/gen", may: map[string]string{"github.com/tiktoken-go/tokenizer/codec": "the vocabularies, as data"}},
	{pkg: "workspace", may: map[string]string{module + "/internal/meant": "which file a path in a call means", module + "/internal/xattr": "what a new content keeps of the old one", module + "/internal/regular": untrusted, module + "/internal/sight": sighted, module + "/internal/protected": "what a call may write that was ruled on", "golang.org/x/sys/...": platform}, not: []string{"net", "net/http"}},
	{pkg: "internal/agentdojo"},
	{pkg: "internal/gitindex"},
	{pkg: "internal/near"},
	{pkg: "internal/regular", may: map[string]string{"golang.org/x/sys/...": platform}},
	{pkg: "internal/xattr", may: map[string]string{"golang.org/x/sys/...": platform}},
	{pkg: "internal/meant", may: map[string]string{"golang.org/x/text/unicode/norm": "composed and decomposed letters"}},
	{pkg: "internal/hostexec", may: map[string]string{
		module + "/internal/wholefile": replaces, module + "/internal/filelock": "several processes write down what programs ran",
	}, not: []string{"net", "net/http"}},
	{pkg: "internal/sight", not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/clip", may: map[string]string{"golang.org/x/text/width": "how wide a letter is on the screen"}},
	{pkg: "internal/ids"},
	{pkg: "internal/wholefile"},
	{pkg: "internal/filelock", may: map[string]string{
		"golang.org/x/sys/unix": "locks on files", "golang.org/x/sys/windows": "locks on files",
	}},
	{pkg: "internal/a2awire", not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/provenance", may: map[string]string{
		"golang.org/x/text/unicode/norm": "letters without their accents and styles",
		"golang.org/x/net/idna":          "host names beyond ASCII",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/localaddr", not: []string{"net/http", "os", "os/exec"}},
	{pkg: "internal/protected", not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/testbed", may: map[string]string{"go.uber.org/goleak": "what finds goroutines"}},
	{pkg: "internal/cli", may: map[string]string{module + "/internal/near": "what a mistyped word was meant to be"}},
	{pkg: "internal/records", may: map[string]string{
		"go.yaml.in/yaml/v3": "reads JSON, YAML and what Python prints",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/args", may: map[string]string{
		"github.com/google/jsonschema-go/jsonschema": "schemas: derived, read, checked",
		"github.com/kaptinlin/jsonrepair":            "arguments that are nearly JSON",
	}, not: []string{"net", "net/http", "os", "os/exec"}},

	{pkg: "docs"},
	{pkg: "internal/release", may: map[string]string{
		"github.com/hiddeco/sshsig": "the form of signatures",
		"golang.org/x/crypto/ssh":   "public keys",
		"golang.org/x/mod/semver":   "which version is newer",
	}, not: []string{"os/exec"}},
	{pkg: "internal/site", may: map[string]string{
		"github.com/yuin/goldmark": "reads Markdown", "github.com/yuin/goldmark/...": "reads Markdown",
	}, not: []string{"net", "net/http", "os/exec"}},
	{pkg: "internal/mail", may: map[string]string{
		"github.com/emersion/go-smtp":         "the protocol",
		"github.com/emersion/go-sasl":         "signing in",
		"github.com/emersion/go-message/mail": "the form of a mail",
	}, not: []string{"net/http", "os", "os/exec"}},

	{pkg: "sandbox/egress"}, // every adapter is given a dialer of it

	{pkg: "internal/bundle", may: map[string]string{
		module + "/internal/regular": untrusted, "github.com/klauspost/compress/zstd": "how the file is compressed",
	}, not: []string{"net", "net/http", "os/exec"}},
	{pkg: "internal/copydir", may: map[string]string{module + "/internal/regular": untrusted}},
	{pkg: "internal/worktree", may: map[string]string{
		module + "/internal/regular": untrusted, module + "/internal/copydir": "what is not committed is merged by file",
		module + "/internal/hostexec": helpers,
	}, not: []string{"net", "net/http"}},
	{pkg: "internal/htmlmd", may: map[string]string{
		"golang.org/x/net/html": "what it reads", "golang.org/x/net/html/atom": "the names of elements",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/ctxio"},
	{pkg: "internal/ole", not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/pdf", may: map[string]string{
		module + "/internal/ctxio":                      "what it unpacks ends with its context",
		"golang.org/x/text/encoding":                    "character sets of the predefined CMaps",
		"golang.org/x/text/encoding/japanese":           "one of them",
		"golang.org/x/text/encoding/korean":             "one of them",
		"golang.org/x/text/encoding/simplifiedchinese":  "one of them",
		"golang.org/x/text/encoding/traditionalchinese": "one of them",
		"golang.org/x/text/unicode/norm":                "presentation forms to letters",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/ooxml", may: map[string]string{
		module + "/internal/ctxio": "what it unpacks ends with its context",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/charset", may: map[string]string{
		"github.com/gogs/chardet":                  "a guess at sets of one byte a character",
		"github.com/wlynxg/chardet":                "a guess at the sets of Asia, of Cyrillic, Greek and Hebrew",
		"golang.org/x/net/html":                    "what a page declares",
		"golang.org/x/text/encoding":               "the sets",
		"golang.org/x/text/encoding/htmlindex":     "their names",
		"golang.org/x/text/encoding/unicode":       "UTF-16",
		"golang.org/x/text/encoding/unicode/utf32": "UTF-32",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
}

var core = []floor{
	{pkg: "", may: map[string]string{
		module + "/internal/sight":      "what a session has seen of files",
		module + "/llm":                 models,
		module + "/internal/args":       "arguments are checked before a tool runs",
		module + "/internal/provenance": "an index of the texts that a session knows",
		module + "/internal/records":    "what services say is told from what people wrote",
	}, not: []string{"net", "net/http", "os", "os/exec", "os/signal", "log", "log/slog", "math/rand", "math/rand/v2"}},

	{pkg: "journal", may: map[string]string{module: speaks, module + "/llm": models}, not: []string{"net", "net/http", "os", "os/exec", "os/signal", "log", "log/slog", "math/rand", "math/rand/v2"}},
	{pkg: "journal/audit", may: map[string]string{module: speaks, module + "/llm": models}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "run", may: map[string]string{
		module + "/internal/sight":     sighted,
		module + "/internal/clip":      "texts of a bounded length in errors",
		module:                         speaks,
		module + "/llm":                models,
		module + "/journal":            "secrets, blobs, and a journal for runs in memory",
		module + "/internal/args":      "arguments are checked before a tool runs",
		module + "/internal/protected": "what a call may write that was ruled on",
	}, not: []string{"net", "net/http", "os", "os/exec", "os/signal", "log", "log/slog", "math/rand", "math/rand/v2"}},
	{pkg: "act", may: map[string]string{
		module: speaks, module + "/llm": models,
		module + "/run":           "who wrote a plan that a person has edited",
		module + "/internal/args": "answers and changed arguments are checked",
		module + "/internal/clip": "texts of a bounded length in errors",
		module + "/internal/ids":  "keys of events",
	}, not: []string{"net", "net/http", "os", "os/exec", "os/signal", "log", "log/slog", "math/rand", "math/rand/v2"}},
	{pkg: "journal/replay", may: map[string]string{
		module + "/internal/sight": sighted,
		module + "/internal/clip":  "texts of a bounded length in errors",
		module:                     speaks,
		module + "/llm":            models,
		module + "/journal":        encodes,
		module + "/run":            "the worker that does again what was done",
	}, not: []string{"net", "net/http", "os/exec", "os/signal", "log", "log/slog", "math/rand", "math/rand/v2"}},
}

var adapters = []floor{
	{pkg: "llm/internal/wire", may: map[string]string{
		module + "/llm":                 models,
		"github.com/dustin/go-humanize": "sizes in errors, as people write them",
		"golang.org/x/image/bmp":        "images are read before they are sent",
		"golang.org/x/image/draw":       "those that are too large for a provider are made smaller",
		"golang.org/x/image/tiff":       "as before",
		"golang.org/x/image/webp":       "as before",
	}},
	{pkg: "llm/openai", may: map[string]string{
		module + "/llm/provider":                  serves,
		module + "/llm":                           models,
		module + "/llm/internal/wire":             shared,
		module + "/llm/openai/internal/chat":      "its own formats",
		module + "/llm/openai/internal/responses": "its own formats",
	}},
	{pkg: "llm/openai/internal/responses", may: map[string]string{module + "/llm": models, module + "/llm/internal/wire": shared}},
	{pkg: "llm/openai/internal/chat", may: map[string]string{module + "/llm": models, module + "/llm/internal/wire": shared}},
	{pkg: "llm/anthropic", may: map[string]string{
		module + "/llm/provider":          serves,
		module + "/llm":                   models,
		module + "/llm/internal/wire":     shared,
		module + "/llm/internal/messages": "Anthropic's format, which others serve too",
	}},
	{pkg: "llm/internal/messages", may: map[string]string{module + "/llm": models, module + "/llm/internal/wire": shared}},
	{pkg: "llm/ollama", may: map[string]string{
		module + "/llm/provider":               serves,
		module + "/llm/openai":                 "it also serves Chat Completions",
		module + "/llm":                        models,
		module + "/llm/internal/wire":          shared,
		module + "/llm/ollama/internal/native": "its own format",
	}},
	{pkg: "llm/ollama/internal/native", may: map[string]string{module + "/llm": models, module + "/llm/internal/wire": shared}},
	{pkg: "llm/entra", may: map[string]string{
		module + "/llm": models, module + "/llm/internal/wire": shared,
		"github.com/Azure/azure-sdk-for-go/sdk/azcore":     "the options of the sign-in",
		"github.com/Azure/azure-sdk-for-go/sdk/azcore/...": "the options of the sign-in",
		"github.com/Azure/azure-sdk-for-go/sdk/azidentity": "Microsoft's own sign-in",
	}},
	{pkg: "llm/bedrock", may: map[string]string{
		module + "/llm/provider":                     serves,
		module + "/llm":                              models,
		module + "/llm/internal/wire":                shared,
		module + "/llm/internal/messages":            "Anthropic's format, which it serves too",
		module + "/llm/bedrock/internal/converse":    "its own format",
		module + "/llm/bedrock/internal/frame":       "its own framing of events",
		"github.com/aws/aws-sdk-go-v2/aws":           "the provider's own client",
		"github.com/aws/aws-sdk-go-v2/aws/signer/v4": "the provider's own client: signatures",
		"github.com/aws/aws-sdk-go-v2/config":        "the provider's own client: credentials",
	}},
	{pkg: "llm/bedrock/internal/converse", may: map[string]string{
		module + "/llm": models, module + "/llm/internal/wire": shared, module + "/llm/bedrock/internal/frame": "its framing of events",
	}},
	{pkg: "llm/bedrock/internal/frame", may: map[string]string{
		module + "/llm": models, module + "/llm/internal/wire": shared,
		"github.com/aws/aws-sdk-go-v2/aws/protocol/...": "the provider's own framing of events",
	}},
	{pkg: "llm/google", may: map[string]string{
		module + "/llm/provider":               serves,
		module + "/llm":                        models,
		module + "/llm/internal/wire":          shared,
		module + "/llm/google/internal/gemini": "its own format",
	}},
	{pkg: "llm/vertex", may: map[string]string{
		module + "/llm": models, module + "/llm/provider": serves, module + "/llm/internal/wire": shared,
		module + "/llm/anthropic":    "the format of Claude",
		module + "/llm/google":       "the format of Gemini",
		"golang.org/x/oauth2":        "a token of Google's, as it has them",
		"golang.org/x/oauth2/google": "the credentials that Google's tools leave",
	}},
	{pkg: "llm/azure", may: map[string]string{
		module + "/llm": models, module + "/llm/provider": serves,
		module + "/llm/openai": "the formats of OpenAI's models",
		module + "/llm/entra":  "tokens of Microsoft Entra",
	}},
	{pkg: "llm/compat", may: map[string]string{
		module + "/llm": models, module + "/llm/provider": serves,
		module + "/llm/openai": "Chat Completions",
	}},
	{pkg: "llm/google/internal/gemini", may: map[string]string{module + "/llm": models, module + "/llm/internal/wire": shared}},
	{pkg: "llm/scripted", may: map[string]string{module + "/llm/provider": serves, module + "/llm": models, "golang.org/x/tools/txtar": casts}},
	{pkg: "internal/toolspec", may: map[string]string{module: speaks, module + "/llm": models}},
	{pkg: "tools", may: map[string]string{
		module + "/internal/meant":             "which file a path in a call means",
		module + "/internal/sight":             sighted,
		module + "/internal/clip":              "texts are cut where a reader would",
		module + "/internal/localaddr":         "what a command is asked about is what is opened for it",
		module + "/internal/near":              "the file that a mistyped path means",
		module + "/internal/toolspec":          byHand,
		module:                                 speaks,
		module + "/llm":                        models,
		module + "/workspace":                  worlds,
		module + "/internal/args":              "answers are checked like arguments",
		"github.com/bmatcuk/doublestar/v4":     "glob patterns with **",
		"github.com/rogpeppe/go-internal/diff": "the diffs that people see",
		"golang.org/x/sync/errgroup":           "searching files at once",
	}},
	{pkg: "internal/hooks", may: map[string]string{
		module: speaks, module + "/run": "what it says of calls", module + "/internal/clip": "answers are shortened for people",
		module + "/internal/hostexec": helpers,
	}},
	{pkg: "internal/schedule", may: map[string]string{
		module: "a schedule is a journal", module + "/journal": "of its own kind",
		module + "/internal/ids":         "tells those apart who send a mail",
		"github.com/robfig/cron/v3":      "the times of a cron line",
		"github.com/teambition/rrule-go": "the times of a recurrence rule",
	}, not: []string{"net", "net/http", "os/exec"}},
	{pkg: "internal/a2aclient", may: map[string]string{
		module + "/internal/wholefile": replaces,
		module:                         speaks, module + "/llm": models, module + "/workspace": worlds + ": files go along and come back",
		module + "/internal/a2awire":   "the objects of the protocol",
		module + "/internal/clip":      "texts of others are made harmless to show",
		module + "/internal/protected": "what a file of others must not be called",
	}, not: []string{"os/exec"}},
	{pkg: "mcp", may: map[string]string{
		module + "/internal/wholefile":               replaces,
		module + "/internal/filelock":                "processes that approve servers at once",
		module + "/internal/toolspec":                byHand,
		module + "/act":                              acts,
		module + "/internal/sight":                   sighted,
		module + "/internal/clip":                    "texts are shortened for people",
		module:                                       speaks,
		module + "/journal":                          encodes,
		module + "/run":                              drives,
		module + "/llm":                              models,
		module + "/workspace":                        worlds + ": servers are commands that run there",
		module + "/internal/args":                    "arguments and answers are checked",
		module + "/internal/ids":                     "ids of calls are those of sessions",
		"github.com/modelcontextprotocol/go-sdk/...": "the official SDK: the protocol and its transports",
		"golang.org/x/oauth2":                        "tokens, as the SDK has them",
	}},
	{pkg: "gate", may: map[string]string{
		module + "/internal/meant":         "which file a path in a call means",
		"golang.org/x/net/idna":            "names of hosts in other scripts, as lenient programs read them",
		module:                             speaks,
		module + "/sandbox/egress":         "hosts are named as where they are dialled",
		module + "/internal/localaddr":     "what a command is asked about is what is opened for it",
		module + "/internal/protected":     "what programs outside a sandbox take orders from",
		module + "/internal/records":       "what services say is told from what people wrote",
		"github.com/bmatcuk/doublestar/v4": "paths are named as in glob",
		"mvdan.cc/sh/v3/syntax":            "commands are read as a shell reads them",
	}},
	{pkg: "sandbox", may: map[string]string{
		module + "/internal/wholefile":    replaces,
		module + "/internal/regular":      untrusted,
		module + "/internal/hostexec":     helpers,
		module + "/workspace":             worlds,
		module + "/internal/gitindex":     "what git would write",
		module + "/internal/protected":    "what programs outside take orders from",
		"golang.org/x/sys/...":            platform + ": namespaces, Landlock, seccomp, cgroups",
		"github.com/pelletier/go-toml/v2": "settings of tools, without their tokens",
	}},
	{pkg: "sandbox/attempts", may: map[string]string{
		module + "/internal/hostexec": helpers,
		module + "/sandbox":           "what it tries to break out of", module + "/workspace": worlds,
		module + "/internal/protected": "the names that it tries to write",
		"golang.org/x/sync/errgroup":   "several attempts at a time", "golang.org/x/tools/txtar": casts,
	}},
	{pkg: "workspace/snapshot", may: map[string]string{
		module + "/internal/xattr":           "what a copy of a file has, too",
		module:                               speaks,
		module + "/internal/gitindex":        "what an index says of files, without when they were looked at",
		module + "/internal/regular":         untrusted,
		"github.com/klauspost/compress/zstd": "frames of packs",
		"golang.org/x/sys/...":               platform + ": extended attributes",
	}},
	{pkg: "store", may: map[string]string{
		module:                         speaks,
		module + "/journal":            encodes + ", and the contract of its index",
		module + "/store/internal/...": "what stores have in common",
		"modernc.org/sqlite":           "the database, without C",
		"modernc.org/sqlite/lib":       "its error codes",
		"github.com/pressly/goose/v3":  "migrations",
		"golang.org/x/sys/...":         platform + ": locks, and file systems that cannot lock",
	}},
	{pkg: "store/postgres", may: map[string]string{
		module:                         speaks,
		module + "/journal":            encodes + ", and the contract of its index",
		module + "/store/internal/...": "what stores have in common",
		"github.com/jackc/pgx/v5/...":  "the database",
		"github.com/jackc/pgx/v5":      "the database",
		"github.com/pressly/goose/v3":  "migrations",
		module + "/internal/ids":       "each object has a name of its own",
	}},
	{pkg: "run/durable", may: map[string]string{
		module:                   "a session that another process drives is no failure",
		"go.temporal.io/sdk/...": "Temporal",
		"go.temporal.io/api/...": "the errors of its service",
	}},
	{pkg: "internal/s3test", may: map[string]string{"github.com/johannesboyne/gofakes3": "an object store", "github.com/johannesboyne/gofakes3/...": "in memory"}},
	{pkg: "store/s3", may: map[string]string{
		module + "/internal/wholefile":     replaces,
		"github.com/minio/minio-go/v7/...": "the protocol", "github.com/minio/minio-go/v7": "the protocol",
	}},
	{pkg: "store/internal/feed", may: map[string]string{module: speaks}},
	{pkg: "store/internal/summary", may: map[string]string{module: speaks, module + "/journal": encodes, module + "/llm": models}},
	{pkg: "internal/pgtest", may: map[string]string{"github.com/jackc/pgx/v5": "the database"}},
	{pkg: "llm/providers", may: map[string]string{module + "/llm/...": "the list of all of them"}},
	{pkg: "config", may: map[string]string{
		module + "/internal/wholefile":             replaces,
		module + "/llm/provider":                   serves,
		module + "/internal/near":                  "what a mistyped name was meant to be",
		module:                                     "the limits and modes that are configured",
		module + "/llm":                            "the settings that are configured",
		"github.com/pelletier/go-toml/v2":          "TOML that says where an error is",
		"github.com/pelletier/go-toml/v2/unstable": "the position of each key",
	}},

	{pkg: "browser", may: map[string]string{
		module + "/internal/toolspec":       byHand,
		module + "/internal/hostexec":       helpers,
		module + "/sandbox/egress":          "the proxy of a browser, and addresses as rules read them",
		module + "/internal/clip":           "texts are shortened for people",
		module:                              speaks,
		module + "/llm":                     models,
		module + "/workspace":               worlds,
		"github.com/chromedp/chromedp":      "the transports to a browser",
		"github.com/chromedp/chromedp/...":  "the WebSocket to one that runs, and what keys are",
		"github.com/chromedp/cdproto":       "the messages of its protocol",
		"github.com/chromedp/cdproto/...":   "the types of its protocol",
		"golang.org/x/image/draw":           "small screenshots",
		"golang.org/x/image/font":           "the labels of elements on a screenshot",
		"golang.org/x/image/font/basicfont": "their letters",
		"golang.org/x/image/math/fixed":     "where they begin",
	}},

	// Data: tables, what is to be seen in them, how it is drawn and told.
	{pkg: "data", may: map[string]string{
		module + "/internal/clip":                 "texts are shortened for people",
		"github.com/dustin/go-humanize":           "sizes in errors, as people write them",
		"github.com/parquet-go/parquet-go":        "Parquet",
		"github.com/parquet-go/parquet-go/format": "the units of its times",
		module + "/internal/ctxio":                "reading ends with its context",
		module + "/internal/ooxml":                "XLSX",
		"modernc.org/sqlite":                      "SQLite, without C",
		module + "/internal/charset":              "texts that are not UTF-8",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "data/insight", may: map[string]string{
		module + "/data":                 "what it looks at",
		"gonum.org/v1/gonum/mat":         "linear algebra",
		"gonum.org/v1/gonum/stat":        "statistics",
		"gonum.org/v1/gonum/stat/distuv": "distributions, for p-values",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "data/chart", may: map[string]string{
		module + "/data":                     "what it draws",
		module + "/data/insight":             "what it draws onto it",
		"github.com/go-text/typesetting/...": "letters of all scripts, in both directions",
		"golang.org/x/image/math/fixed":      "the numbers of typesetting",
		"golang.org/x/image/vector":          "shapes to pixels",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "data/report", may: map[string]string{
		module + "/internal/sight":     sighted,
		module + "/data":               "the tables in a report",
		module + "/data/chart":         "the charts in a report",
		module + "/workspace":          "where Chromium prints to",
		"github.com/yuin/goldmark/...": "Markdown",
		"github.com/yuin/goldmark":     "Markdown",
	}, not: []string{"net", "os", "os/exec"}},
	{pkg: "data/document", may: map[string]string{
		module + "/internal/sight":                      sighted,
		module + "/internal/near":                       "the file that a mistyped path means",
		module + "/internal/toolspec":                   byHand,
		module:                                          speaks,
		module + "/llm":                                 models,
		module + "/workspace":                           worlds,
		module + "/data":                                "tables are read as it reads them",
		module + "/internal/ctxio":                      "reading ends with its context",
		"github.com/dustin/go-humanize":                 "sizes, as people write them",
		module + "/internal/pdf":                        "PDF",
		module + "/internal/clip":                       "texts are cut where a reader would",
		module + "/internal/ooxml":                      "DOCX, PPTX and XLSX",
		module + "/internal/ole":                        "DOC, PPT, XLS and Outlook's messages",
		module + "/internal/htmlmd":                     "pages, and those in books and mail",
		"golang.org/x/net/html":                         "the same",
		module + "/internal/charset":                    "texts that are not UTF-8",
		"golang.org/x/text/encoding":                    "character sets of old documents",
		"golang.org/x/text/encoding/charmap":            "some of them",
		"golang.org/x/text/encoding/japanese":           "one of them",
		"golang.org/x/text/encoding/korean":             "one of them",
		"golang.org/x/text/encoding/simplifiedchinese":  "one of them",
		"golang.org/x/text/encoding/traditionalchinese": "one of them",
		"golang.org/x/text/encoding/unicode":            "one of them",
		"github.com/klauspost/compress/zstd":            "texts and archives that are packed with it",
		"golang.org/x/image/bmp":                        "the size of an image",
		"golang.org/x/image/tiff":                       "the size of an image",
		"golang.org/x/image/webp":                       "the size of an image",
	}, not: []string{"net", "os", "os/exec"}},
	{pkg: "data/analysis", may: map[string]string{
		module + "/internal/sight":    sighted,
		module + "/internal/clip":     "texts are shortened for people",
		module + "/internal/toolspec": byHand,
		module:                        speaks,
		module + "/workspace":         worlds,
		module + "/data":              "what its tools are about",
		module + "/data/...":          "what its tools are about",
		"golang.org/x/sync/errgroup":  "charts at once",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "web", may: map[string]string{
		module + "/internal/protected":        "what a report must not be named",
		module + "/internal/clip":             "pages are cut where a reader would",
		module + "/sandbox/egress":            "addresses as rules read them",
		module + "/internal/toolspec":         byHand,
		module + "/internal/htmlmd":           "Markdown of pages",
		module:                                speaks,
		module + "/workspace":                 worlds,
		"golang.org/x/text/unicode/norm":      "words that are the same are compared as such",
		module + "/llm":                       models,
		"github.com/andybalholm/brotli":       "pages that come in it",
		"github.com/andybalholm/cascadia":     "what is where on a page",
		"github.com/go-shiori/go-readability": "the main part of a page",
		"golang.org/x/net/html":               "pages as browsers read them",
		"golang.org/x/net/html/atom":          "the names of elements",
		module + "/internal/charset":          "pages that are not in UTF-8",
	}},
}

var configured = []floor{
	{pkg: "agents", may: map[string]string{
		module + "/internal/toolspec":  byHand,
		module + "/internal/a2aclient": "agents elsewhere", module + "/internal/a2awire": "how their tasks stand",
		module + "/internal/clip": "texts are shortened for people",
		module:                    speaks, module + "/workspace": worlds,
		module + "/tools":            "what the agents can do",
		module + "/data/analysis":    "what the agents can do",
		module + "/data/document":    "what the agents can do",
		module + "/llm":              models,
		module + "/internal/copydir": "attempts are made in copies",
		module + "/internal/regular": untrusted,
		"go.yaml.in/yaml/v3":         "the front matter of agents and skills",

		"github.com/pelletier/go-toml/v2": "agents in TOML",
	}},
}

var suites = []floor{
	{pkg: "llm/llmtest", may: map[string]string{module + "/llm": models, "golang.org/x/tools/txtar": casts}},
	{pkg: "internal/zoo"},
	{pkg: "workspace/workspacetest", may: map[string]string{module + "/workspace": worlds}},
	{pkg: "internal/view/viewtest", may: map[string]string{module: speaks, module + "/llm": models, module + "/journal/journaltest": "every body there is"}},
	{pkg: "journal/journaltest", may: map[string]string{module: speaks, module + "/journal": encodes, module + "/llm": models}},
}

var surfaces = []floor{
	{pkg: "internal/gist", may: map[string]string{
		module: speaks, module + "/llm": models, module + "/internal/clip": "texts are shortened for people",
		module + "/tools": "what the details of results are",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/view", may: map[string]string{
		module: speaks, module + "/act": "who decided", module + "/llm": models,
		module + "/internal/gist": "what calls do, in a few words", module + "/internal/clip": "texts are shortened for people",
		module + "/tools": "the steps of plans",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/sharepage", may: map[string]string{
		module + "/internal/view": shows,
		module:                    speaks, module + "/llm": models, module + "/internal/clip": "what hides in texts is shown",
		module + "/internal/gist": "what calls do, in a few words", module + "/data/chart": "charts as pictures that need no script",
		module + "/internal/protected": "which files stay on their machine",
		"github.com/yuin/goldmark":     "reads Markdown", "github.com/yuin/goldmark/...": "reads Markdown",
	}, not: []string{"net", "os", "os/exec"}},
	{pkg: "internal/termtext", may: map[string]string{
		module + "/internal/clip":      "how wide a letter is, and what controls a terminal",
		"github.com/yuin/goldmark":     "reads Markdown",
		"github.com/yuin/goldmark/...": "reads Markdown",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/linemode", may: map[string]string{
		module + "/act":               acts,
		module + "/internal/view":     shows,
		module + "/internal/termtext": "colours, Markdown, lines",
		module:                        speaks, module + "/llm": models, module + "/internal/clip": "texts are shortened for people",
		module + "/internal/gist": "what calls do, in a few words",
		module + "/tools":         "the steps of plans",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/surface", may: map[string]string{module: speaks, module + "/act": acts}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "internal/tui", may: map[string]string{
		module + "/act":               acts,
		module + "/internal/view":     shows,
		module + "/internal/hostexec": helpers,
		module + "/internal/surface":  "where sessions are",
		module + "/internal/termtext": "colours, Markdown, lines",
		module + "/internal/linemode": "what events say, in the words of the line mode",
		module:                        speaks, module + "/llm": models, module + "/internal/clip": "texts are shortened for people",
		module + "/internal/gist":         "what calls do, in a few words",
		module + "/internal/ids":          "the ids of messages",
		module + "/internal/near":         "suggestions for mistyped commands",
		module + "/tools":                 "the steps of plans",
		"golang.org/x/term":               "how high the terminal is",
		"charm.land/bubbletea/v2":         "keys, and what is drawn of a screen that changes",
		"github.com/charmbracelet/x/ansi": "the name of a mode of terminals",
	}}, // it runs commands of the person and their editor
	{pkg: "internal/acp", may: map[string]string{
		module + "/internal/view": shows,
		module + "/act":           acts,
		module:                    speaks, module + "/llm": models, module + "/internal/surface": "where sessions are",
		module + "/internal/gist": "what calls do, in a few words", module + "/internal/clip": "texts are shortened for people",
		module + "/internal/ids": "the ids of messages", module + "/tools": "the steps of plans",
		module + "/workspace": "the texts of files that an editor has open",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "journal/trace", may: map[string]string{module + "/llm/provider": serves, module: speaks, module + "/run": drives, module + "/llm": models}, not: []string{"os", "os/exec"}},
	{pkg: "server/agui", may: map[string]string{
		module + "/internal/view": shows,
		module:                    speaks, module + "/llm": models, module + "/internal/clip": "characters are sent whole",
		module + "/internal/gist": "which tool plans",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "server/openai", may: map[string]string{
		module + "/internal/view": shows,
		module:                    speaks, module + "/act": acts, module + "/llm": models, module + "/llm/tokens": "answers end at the number of tokens that a client gives",
		module + "/internal/args": "the schemas of clients, and the answers that fit them",
		module + "/internal/clip": "calls are shortened for people", module + "/internal/ids": "messages",
	}, not: []string{"os", "os/exec"}},
	{pkg: "server/a2a", may: map[string]string{
		module + "/internal/view": shows,
		module:                    speaks, module + "/llm": models, module + "/internal/a2awire": "the objects of the protocol",
		module + "/internal/clip":      "characters are sent whole",
		"github.com/golang-jwt/jwt/v5": "signatures of cards", "github.com/gowebpki/jcs": "the form of a card that is signed",
	}, not: []string{"os", "os/exec"}},
	{pkg: "server/triggers", may: nil, not: []string{"net", "os", "os/exec"}},
	{pkg: "server", may: map[string]string{
		module + "/internal/surface": "what the settings say of MCP servers",
		module + "/act":              acts,
		module + "/server/a2a":       "tasks of other agents",
		module + "/server/agui":      "what happens, in the words of AG-UI",
		module + "/server/openai":    "the protocols of OpenAI and Anthropic",
		module + "/server/triggers":  "what other services post",
		module + "/internal/hooks":   "what services are told of a session",
		module + "/internal/clip":    "texts are shortened for people",
		module:                       speaks, module + "/run": drives, module + "/llm": models,
		module + "/internal/regular":                       untrusted,
		module + "/internal/sharepage":                     "sessions as pages to share",
		module + "/internal/args":                          "what people write for a tool is checked as what models do",
		module + "/internal/ids":                           "sessions and messages",
		module + "/journal":                                "the index that lists and searches sessions",
		"github.com/andybalholm/brotli":                    "compresses the page",
		"github.com/klauspost/compress/gzhttp":             "compresses JSON",
		"rsc.io/qr":                                        "links that a telephone can read",
		"github.com/SherClockHolmes/webpush-go":            "encrypted messages to browsers",
		"github.com/danielgtaylor/huma/v2":                 "OpenAPI from Go types, validation, problem documents",
		"github.com/danielgtaylor/huma/v2/adapters/humago": "it, over the standard library",
	}},
}

var assembly = []floor{
	{pkg: "internal/install", may: map[string]string{module: speaks, module + "/internal/hostexec": helpers}, not: []string{"net", "net/http"}},
	{pkg: "internal/doctor", may: map[string]string{
		module + "/internal/hostexec": helpers,
		module + "/internal/install":  "how programs are installed",
		module + "/config":            "what is configured is what it looks for",
		"golang.org/x/sys/...":        platform,
	}},
	{pkg: "host", may: map[string]string{
		module + "/internal/wholefile": replaces,
		module + "/internal/meant":     "which file a path in a call means",
		module + "/internal/filelock":  "processes that learn of endpoints at once",
		module + "/internal/surface":   "what was pruned, as every surface shows it",
		module + "/act":                acts,
		module + "/internal/hostexec":  helpers,
		module + "/internal/sight":     sighted,
		module + "/internal/a2aclient": "agents elsewhere",
		module + "/internal/protected": "what a merge of attempts must not take",
		module:                         speaks, module + "/llm": models, module + "/llm/provider": serves, module + "/workspace": worlds,
		module + "/llm/providers":      "the providers that are built in",
		module + "/llm/catalogue":      "what is known of models that the configuration does not describe",
		module + "/llm/tokens":         "the size of requests",
		module + "/journal":            "secrets, and the index of sessions",
		module + "/run":                drives,
		module + "/agents":             "the agents and flows that it makes",
		module + "/tools":              "the tool that delegates",
		module + "/config":             "what it turns into agents",
		module + "/gate":               "what rules on the calls of agents",
		module + "/sandbox":            "what commands run in",
		module + "/sandbox/egress":     "the proxies of sandbox and browser",
		module + "/web":                "tools that are shared by all agents of a workspace",
		module + "/browser":            "tools that are shared by all agents of a workspace",
		module + "/data/document":      "documents that web tools read",
		module + "/mcp":                "the tools of servers",
		module + "/journal/trace":      "traces, if the environment asks for them",
		module + "/internal/doctor":    "the models of an Ollama",
		module + "/internal/hooks":     "programs that are asked before calls run",
		module + "/internal/install":   "programs that only some tools need",
		module + "/internal/regular":   untrusted,
		module + "/internal/ids":       "the ids of messages",
		module + "/internal/gist":      "what a remembered call does, in a few words",
		module + "/internal/copydir":   "forks work in copies",
		module + "/internal/worktree":  "sessions have a checkout of their own",
		module + "/internal/clip":      "numbers of changes in words",
		module + "/workspace/snapshot": "what a workspace contained",
		module + "/journal/replay":     "recorded sessions run again with its flows",
	}},
	{pkg: "host/summary", may: map[string]string{
		module: speaks, module + "/llm": models, module + "/host": "the files that a run changed", module + "/run": "questions",
		module + "/journal": "the index of sessions",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "host/local", may: map[string]string{
		module: speaks, module + "/act": acts, module + "/llm": models, module + "/run": drives, module + "/host": "what drives the sessions",
		module + "/journal": "the index of sessions", module + "/gate": "which questions are asked each time",
		module + "/host/summary": "how sessions stand", module + "/internal/surface": "what it is a source for",
		module + "/internal/ids": "the ids of sessions", module + "/internal/clip": "texts are shortened for people",
		module + "/agents":        "the commands of a person",
		module + "/internal/view": "how a long session stands, by its end",
	}, not: []string{"net", "net/http", "os", "os/exec"}},
	{pkg: "host/served", may: map[string]string{
		module + "/act": acts,
		module + "/mcp": "the servers that administrators change",
		module:          speaks, module + "/host": "what it serves", module + "/server": "for which it serves it",
		module + "/server/a2a": "the keys that can sign its card", module + "/server/triggers": "those that are configured",
		module + "/agents": "the plans that its flows follow", module + "/data/document": "Office files as the page shows them",
		module + "/sandbox/egress": "where messages to browsers may go",
		module + "/browser":        "what a person sees of it and does there",
		module + "/config":         "the settings that administrators see", module + "/llm": models, module + "/llm/provider": serves,
		module + "/llm/providers": "the providers that a model can be set up at", module + "/sandbox": "what it lets commands do, in words",
	}},
	{pkg: "host/scheduled", may: map[string]string{
		module + "/act": acts,
		module:          speaks, module + "/host": "whose agents do the tasks", module + "/config": "the schedules of the user",
		module + "/internal/schedule": "for which it carries them out", module + "/host/summary": "how sessions stand",
		module + "/internal/mail": "sends what a run has ended with",
		module + "/run":           "what waits in them", module + "/internal/ids": "names of files that are not complete yet",
		module + "/server": "which shows them over HTTP", module + "/llm/providers": "the models that the configuration may name",
	}, not: []string{"net", "net/http", "os/exec"}},
	{pkg: "host/mcpserved", may: map[string]string{
		module: speaks, module + "/host": "what it serves", module + "/mcp": "for which it serves it",
		module + "/host/summary": "sessions as resources", module + "/journal": "the index of sessions",
		"github.com/modelcontextprotocol/go-sdk/mcp": "sessions as resources of an MCP server",
	}},
}

var programs = []floor{
	{pkg: "cmd/openmanus", may: map[string]string{
		module:                            "it wires",
		module + "/...":                   "it wires",
		"github.com/pelletier/go-toml/v2": "themes of the person",
		"golang.org/x/sys/unix":           "a terminal that does not show what is typed",
		"golang.org/x/term":               "is a person there?",
	}},
	{pkg: "examples/agent", may: map[string]string{module + "/...": anExample, module: anExample}},
	{pkg: "examples/tool", may: map[string]string{module + "/...": anExample, module: anExample}},
	{pkg: "examples/flow", may: map[string]string{module + "/...": anExample, module: anExample}},
	{pkg: "examples/surface", may: map[string]string{module + "/...": anExample, module: anExample}},
	{pkg: "examples/provider", may: map[string]string{module + "/...": anExample, module: anExample}},
	{pkg: "examples/served", may: map[string]string{
		module + "/...": anExample,
		module:          anExample,
	}},
}

func TestImports(t *testing.T) {
	seen := make(map[string]bool)
	for file, imports := range imported(t) {
		pkg := path.Dir(file)
		if pkg == "." {
			pkg = ""
		}
		i := slices.IndexFunc(floors, func(f floor) bool { return f.pkg == pkg })
		if i < 0 {
			t.Errorf("%s: the package %q has no floor: say in import_test.go what it may import, and why", file, pkg)
			continue
		}
		seen[pkg] = true
		for _, imp := range imports {
			why, line := floors[i].refuses(imp)
			if why != "" {
				t.Errorf("%s imports %s: %s", file, imp, why)
			}
			seen[pkg+" "+line] = true
		}
	}
	for _, f := range floors {
		if !seen[f.pkg] {
			t.Errorf("the package %q is listed, and is not there", f.pkg)
		}
		for line := range f.may {
			if !seen[f.pkg+" "+line] {
				t.Errorf("%q may import %s, and does not: take it off the list", f.pkg, line)
			}
		}
	}
}

// refuses says why a package of f may not import imp, or which line lets it.
func (f floor) refuses(imp string) (why, line string) {
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") { // the standard library
		if slices.Contains(f.not, imp) {
			return fmt.Sprintf("%q is on a floor that does not reach the world", f.pkg), ""
		}
		return "", ""
	}
	for may := range f.may {
		if below, all := strings.CutSuffix(may, "/..."); imp == may || all && strings.HasPrefix(imp, below+"/") {
			return "", may
		}
	}
	return fmt.Sprintf("that is not on the list of %q in import_test.go", f.pkg), ""
}

// imported returns the imports of every file of this module that is no test,
// for whatever system the file is.
func imported(t *testing.T) map[string][]string {
	all := make(map[string][]string)
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skip(name)
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range f.Imports {
			rel, err := filepath.Rel(top, name)
			if err != nil {
				return err
			}
			slash := filepath.ToSlash(rel)
			all[slash] = append(all[slash], strings.Trim(imp.Path.Value, `"`))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// skip skips other modules, test data and what is hidden.
func skip(dir string) error {
	if dir == top {
		return nil
	}
	base := filepath.Base(dir)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
		return filepath.SkipDir
	}
	return nil
}

// The test that guards the floors can fail.
func TestImportsThatAreRefused(t *testing.T) {
	at := func(pkg string) floor {
		return floors[slices.IndexFunc(floors, func(f floor) bool { return f.pkg == pkg })]
	}
	for _, c := range []struct {
		pkg, imp string
		refused  bool
	}{
		{"llm", "net/http", true},
		{"llm", "encoding/json", false},
		{"llm", module, true},
		{"", "os", true},
		{"", module + "/workspace", true},
		{"", module + "/llm", false},
		{"", module + "/llm/openai", true},
		{"tools", module + "/store", true},
		{"store", module + "/tools", true},
		{"store", "golang.org/x/sys/unix", false},
		{"store", "golang.org/x/sysadmin", true},
		{"agents", module + "/llm/openai", true},
		{"cmd/openmanus", module + "/store", false},
		{"cmd/openmanus", "example.com/other", true},
	} {
		if why, _ := at(c.pkg).refuses(c.imp); (why != "") != c.refused {
			t.Errorf("%q imports %s: refused %q, want refused: %v", c.pkg, c.imp, why, c.refused)
		}
	}
}

// TestNothingIsCalledByName: a package that calls methods by names it learns
// while it runs, as templates do, makes the linker keep every exported method
// of every package, 13 MB.
func TestNothingIsCalledByName(t *testing.T) {
	for file, imports := range imported(t) {
		for _, imp := range imports {
			if imp == "text/template" || imp == "html/template" {
				t.Errorf("%s imports %s: fill text in with a strings.Replacer", file, imp)
			}
		}
	}
}
