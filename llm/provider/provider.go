// Package provider describes the services that models are asked at.
//
// Everything that the program knows of a service is one [Provider]: its name,
// its hosts, the variables that hold its keys, the interfaces it speaks, and
// how to make an [llm.Model] for one of its models. Each value lives in the
// folder of its provider (llm/openai, llm/bedrock, …), and package
// llm/providers lists them. Configuration, catalogue, doctor, traces and the
// command line are given that list and know no provider by name, so a new
// provider is one folder and one line of the list.
//
// The package reaches nothing: it neither reads the environment nor connects.
package provider

import (
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// A Provider is what is known of a service that serves models. Only Name and
// New are required. A Provider does not change after it was made, and may be
// used by many goroutines.
type Provider struct {
	// Name stands before the slash of a model's name: NAME/MODEL. Journals
	// record it, so it never changes.
	Name string
	// Title is what people call the service; "": Name.
	Title string
	// TraceName is the provider's gen_ai.provider.name in the conventions of
	// OpenTelemetry; "": Name.
	TraceName string
	// Types are the words of OpenManus' api_type that mean this provider.
	Types []string

	// DefaultModel marks the provider that serves names without a provider.
	// It is the model used where a key of the provider is all that is set.
	DefaultModel string
	// Suggested is a model to begin with, and the one that is used where a key in
	// KeyVars is all that is found; "": DefaultModel.
	Suggested string
	// Compatible marks the provider for every base URL that is no other
	// provider's own.
	Compatible bool
	// Service marks an OpenAI-compatible service that has a name of its own. Only a
	// model's name chooses it, and only where no other address is configured: there
	// the whole name is a model's, as at a proxy for many services.
	Service bool
	// Shared says that other programs set KeyVars and BaseVars for endpoints
	// of any kind. Such a key goes to Hosts, and to an address that the
	// environment or a flag names, but not to one from a file.
	Shared bool
	// Local marks the provider that runs on this machine. Where nothing is
	// configured, the first of its models is used.
	Local bool
	// Script marks the provider of scripts. Its models are named NAME:FILE and
	// have no endpoint.
	Script bool

	// BaseURL is the address of the provider; "" if each customer has another.
	BaseURL string
	// BaseVars are environment variables that name another address. The first
	// that is set counts.
	BaseVars []string
	// Hosts are the hosts that belong to the provider alone, where its keys
	// may go. A * stands for one label or a part of one.
	Hosts []string
	// Tenants says that customers choose names below Hosts. An address from a
	// journal then gets no credentials.
	Tenants bool
	// Resellers are domains of services that serve models of many makers and
	// name them MAKER/MODEL, so that openai/gpt-5 is a model's name there.
	Resellers []string
	// Address finds where a model is. Nil: the configured address, else that
	// of BaseVars, else BaseURL.
	Address func(Query) (Address, error)

	// KeyVars are environment variables that hold a key. The first that is set
	// counts.
	KeyVars []string
	// SignInVars are environment variables that show that a person has credentials of
	// the cloud. They are named to people, and choose nothing.
	SignInVars []string
	// SecretVars are environment variables that hold other secrets of the
	// provider. They are never sent, only kept out of journals.
	SecretVars []string
	// KeyPage is the page of the service on which a customer makes a key.
	KeyPage string
	// KeyPrefixes are the beginnings of the provider's keys. A configured key
	// that begins otherwise is not sent. Nil: any key is.
	KeyPrefixes []string
	// Keyless says that the provider can do without a key.
	Keyless bool
	// SignIn names whose credentials stand in for a key, such as "Google"; "":
	// there is no such sign-in. See [Options].SignIn.
	SignIn string
	// SignInHint says what to look at where the credentials are refused. In it
	// ADDRESS is the model's address and SOURCE where that was configured.
	SignInHint string

	// APIs are the interfaces that can be chosen, the default first. "" is the
	// provider's own interface, which has no word.
	APIs []string
	// HomeAPI is the default at Hosts; "": the first of APIs.
	HomeAPI string
	// Lists says that BASE/models lists the models in the way of OpenAI.
	Lists bool
	// Window is the number of tokens that a model is loaded with, in the
	// provider's own interface, unless the configuration names another; 0: a
	// model's own window counts.
	Window int

	// Free says whether a model at an address costs nothing. Nil: none does.
	Free func(base, model string) bool

	// Serves reports why the provider serves no model of that name. Nil: the
	// provider alone can tell.
	Serves func(model string) error
	// Maker returns the catalogue's name of a model: who made it, and what they
	// call it. Nil: the provider's own name, and the model's.
	Maker func(model string) (maker, name string)

	// StartHint and PullHint are commands that start the provider, and that
	// get a model, whose name follows; "": there are none.
	StartHint, PullHint string

	// New makes the model that options describe. It connects to nothing.
	// Wrong options may also be reported by the first request. A model with a
	// method Body(*llm.Request) ([]byte, error) returns the exact bytes that
	// it sends for a request.
	New func(Options) (llm.Model, error)
}

// Options describe one model of a provider.
type Options struct {
	Model   string // the name that the provider uses; of a script the file's path
	BaseURL string // the address that was found; "" for a script
	Key     string // "": none
	KeyFrom string // the name of the variable that Key is from; "" for another source
	API     string // one of [Provider].APIs
	Region  string // see [Address]
	Version string // see [Address]
	SignIn  bool   // the cloud's credentials may be sent to BaseURL; Key is "" then

	Window    int   // tokens of a request and its reply; 0: not known
	Output    int   // tokens of a reply, at most; 0: not known
	Reasoning *bool // whether it is a reasoning model; nil: not known

	Thoughts        string // how reasoning goes back in Chat Completions: "" or "auto", "none", or a field
	NoStreamOptions bool   // stream_options are not sent

	// Hint returns a sentence for errors of a kind that only the configuration
	// can tell, such as where the key came from. Nil: there is none.
	Hint func(llm.Kind) string
}

// First returns the model to begin with; "" if people have to choose one.
func (p *Provider) First() string {
	if p.Suggested != "" {
		return p.Suggested
	}
	return p.DefaultModel
}

// OwnServer reports whether the models may be at a server of the person's own.
func (p *Provider) OwnServer() bool { return p.Compatible || p.Local }

// Owns reports whether base is an https address at one of p's hosts. A key of p is sent to
// no other host unless the user names that host. A * in p's hosts stands for one or more
// characters without a dot.
func (p *Provider) Owns(base string) bool {
	h := Host(base)
	return strings.HasPrefix(base, "https:") && slices.ContainsFunc(p.Hosts, func(own string) bool {
		before, after, any := strings.Cut(own, "*")
		if !any || len(h) <= len(before)+len(after) {
			return h == own
		}
		return strings.HasPrefix(h, before) && strings.HasSuffix(h, after) &&
			!strings.Contains(h[len(before):len(h)-len(after)], ".")
	})
}

// Resells reports whether base belongs to a service of many makers: see
// [Provider].Resellers.
func (p *Provider) Resells(base string) bool {
	h := Host(base)
	return slices.ContainsFunc(p.Resellers, func(own string) bool { return h == own || strings.HasSuffix(h, "."+own) })
}

// API returns the interface that is spoken at base where the configuration
// asks for said, or for nothing (""). A word of another provider counts as
// nothing; ok is false if p has several interfaces, and only named ones.
func (p *Provider) API(base, said string) (api string, ok bool) {
	switch {
	case slices.Contains(p.APIs, said) && said != "":
		return said, true
	case said != "" && len(p.APIs) > 1 && !slices.Contains(p.APIs, ""):
		return "", false
	case p.HomeAPI != "" && p.Owns(base):
		return p.HomeAPI, true
	case len(p.APIs) > 0:
		return p.APIs[0], true
	}
	return "", true
}

// A List is the providers of a program. The order is that in which people see
// them, and in which hosts are looked up.
type List []*Provider

// Named returns the provider with the name; nil if there is none.
func (l List) Named(name string) *Provider {
	return l.first(func(p *Provider) bool { return p.Name == name })
}

// Typed returns the provider that OpenManus' api_type means; nil if there is
// none.
func (l List) Typed(apiType string) *Provider {
	return l.first(func(p *Provider) bool { return slices.Contains(p.Types, strings.ToLower(apiType)) })
}

// At returns the provider that base belongs to; nil if there is none. A service is none:
// see [List.ServiceAt].
func (l List) At(base string) *Provider {
	return l.first(func(p *Provider) bool { return !p.Service && p.Owns(base) })
}

// ServiceAt returns the service that base belongs to; nil if there is none. Its keys may go
// there, and models that are asked there keep the name of the compatible provider.
func (l List) ServiceAt(base string) *Provider {
	return l.first(func(p *Provider) bool { return p.Service && p.Owns(base) })
}

// Default returns the provider that serves names without a provider. In a list
// without one it returns the zero Provider, which serves nothing.
func (l List) Default() *Provider {
	return orNone(l.first(func(p *Provider) bool { return p.DefaultModel != "" }))
}

// Compatible returns the provider for base URLs that are no other provider's
// own. In a list without one it returns the zero Provider.
func (l List) Compatible() *Provider {
	return orNone(l.first(func(p *Provider) bool { return p.Compatible }))
}

// Local returns the provider that runs on this machine; nil if there is none.
func (l List) Local() *Provider { return l.first(func(p *Provider) bool { return p.Local }) }

// Resold reports whether base belongs to a service of many makers.
func (l List) Resold(base string) bool {
	return l.first(func(p *Provider) bool { return p.Resells(base) }) != nil
}

// Names returns the words that can stand before the slash of a model's name, in the order
// of the list. Providers of scripts are left out, since their names end with a colon.
func (l List) Names() (names []string) {
	for _, p := range l {
		if !p.Script {
			names = append(names, p.Name)
		}
	}
	return names
}

// Split returns the provider that a model's name begins with and the rest; nil
// and model if it begins with none.
func (l List) Split(model string) (*Provider, string) {
	for _, p := range l {
		sep := "/"
		if p.Script {
			sep = ":"
		}
		if name, ok := strings.CutPrefix(model, p.Name+sep); ok {
			return p, name
		}
	}
	return nil, model
}

// TraceName returns what OpenTelemetry calls the provider of the model; "" if
// the model's name begins with no provider. A provider that is not in l, as in
// a journal of another program, keeps its own name.
func (l List) TraceName(model string) string {
	p, _ := l.Split(model)
	switch {
	case p == nil:
		name, _, ok := strings.Cut(model, "/")
		if !ok {
			return ""
		}
		return name
	case p.TraceName != "":
		return p.TraceName
	}
	return p.Name
}

// first returns the first provider that fits; nil if none does.
func (l List) first(fits func(*Provider) bool) *Provider {
	if i := slices.IndexFunc(l, fits); i >= 0 {
		return l[i]
	}
	return nil
}

// orNone returns p, or the zero Provider if p is nil.
func orNone(p *Provider) *Provider {
	if p == nil {
		return &Provider{}
	}
	return p
}

// String returns p's name.
func (p *Provider) String() string { return p.Name }

// MarshalText implements [encoding.TextMarshaler]: p's name.
func (p *Provider) MarshalText() ([]byte, error) { return []byte(p.Name), nil }

// ModelName returns the full name of a model of p, by which users ask for it:
// PROVIDER/NAME, or PROVIDER:NAME for scripts.
func (p *Provider) ModelName(name string) string {
	if p.Script {
		return p.Name + ":" + name
	}
	return p.Name + "/" + name
}
