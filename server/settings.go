package server

import (
	"context"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus/internal/surface"
)

// An Administrator is a [Host] whose configuration its administrators can see and, in part,
// change. No value has a key, a token or another secret. An error that the user can correct
// is a [*FieldError].
type Administrator interface {
	Settings(ctx context.Context) (Settings, error)

	// CheckModel asks a configured model a short question.
	CheckModel(ctx context.Context, name string) (ModelChecked, error)

	// SetUp tries a model, saves it as the one of new sessions, and uses it from then on.
	SetUp(ctx context.Context, m NewModel) error

	// UseModel makes a configured model, by its name in the settings, the one of new sessions.
	UseModel(ctx context.Context, name string) error

	ServerKeeper
	AgentKeeper

	// Prune deletes what is kept of workspaces beyond what is configured; dry only says what
	// it would delete.
	Prune(ctx context.Context, dry bool) (Pruned, error)

	// Forget revokes a decision that was remembered.
	Forget(ctx context.Context, id string) error

	// Sandbox says what commands of new sessions can and cannot do.
	Sandbox(ctx context.Context) (string, error)
}

// Settings are what is configured.
type Settings struct {
	File      string            `json:"file" doc:"The user's configuration file."`
	Models    []ModelSetting    `json:"models"`
	Providers []ProviderSetting `json:"providers" doc:"Those that a model can be set up at."`
	Servers   []ServerSetting   `json:"servers" doc:"The MCP servers."`
	Decisions []DecisionSetting `json:"decisions" doc:"The decisions that are remembered."`
	Users     []UserSetting     `json:"users"`
	Hooks     []HookSetting     `json:"hooks" doc:"The hooks of the configuration; workspaces may have others."`
	Triggers  []TriggerSetting  `json:"triggers"`
	Storage   StorageSetting    `json:"storage"`
	Found     *FoundEndpoint    `json:"found,omitempty" doc:"An endpoint that the configuration or the environment names without a model."`
}

// A FoundEndpoint is one that is named without a model: what a person can choose from there.
type FoundEndpoint struct {
	Address string   `json:"address"`
	Source  string   `json:"source" doc:"What names the address."`
	KeyFrom string   `json:"key_from,omitempty" doc:"Where its key is set, not the key."`
	Models  []string `json:"models" doc:"Those that it lists."`
	Error   string   `json:"error,omitempty" doc:"Why it lists none."`
}

// A LearnedSetting is what the endpoint of a model has told of it, or refused.
type LearnedSetting struct {
	What  string    `json:"what" enum:"window,output,vision,tools,reasoning,without"`
	Value string    `json:"value" doc:"A number, true or false, or the fields of a request that it refuses."`
	From  string    `json:"from" doc:"What said it, such as its list of models."`
	At    time.Time `json:"at"`
	Why   string    `json:"why,omitempty" doc:"By what it is known, such as the words of a refusal."`
}

// A ModelSetting is a model that is configured.
type ModelSetting struct {
	Name    string `json:"name"`
	Model   string `json:"model,omitempty"`
	Default bool   `json:"default,omitempty"`
	Source  string `json:"source"`
	Address string `json:"address,omitempty"`
	Key     string `json:"key" enum:"set,missing,not needed"`
	KeyFrom string `json:"key_from,omitempty" doc:"Where the key is set, not the key."`
	Error   string `json:"error,omitempty" doc:"Why it cannot be used."`

	Learned []LearnedSetting `json:"learned,omitempty" doc:"What its endpoint has told of it, and is remembered."`
}

// A ProviderSetting is a provider of models.
type ProviderSetting struct {
	Name      string `json:"name"`
	Title     string `json:"title" doc:"What people call it."`
	Suggested string `json:"suggested,omitempty" doc:"A model to begin with."`
	NeedsKey  bool   `json:"needs_key"`
	KeyPage   string `json:"key_page,omitempty" doc:"The address of the page on which a key is made."`
	KeyFrom   string `json:"key_from,omitempty" doc:"The variable of the environment that has a key for it."`
	Default   bool   `json:"default,omitempty"`
}

// A DecisionSetting is a decision that is remembered.
type DecisionSetting struct {
	ID        string    `json:"id"`
	Allow     bool      `json:"allow"`
	Tool      string    `json:"tool,omitempty"`
	What      string    `json:"what"`
	Workspace string    `json:"workspace,omitempty"`
	By        string    `json:"by"`
	At        time.Time `json:"at"`
}

// A UserSetting is a user of the server, without their token.
type UserSetting struct {
	Name    string `json:"name"`
	Admin   bool   `json:"admin,omitempty" doc:"They may see and change the settings."`
	Approve string `json:"approve" doc:"The widest approval mode of their sessions."`
	Token   string `json:"token" doc:"Where the token is, not the token."`
}

// A HookSetting is a program that is asked before an event, or notified of it.
type HookSetting struct {
	Name    string `json:"name"`
	On      string `json:"on" doc:"The event."`
	Decides bool   `json:"decides,omitempty" doc:"It can stop what it is asked about."`
	Command string `json:"command,omitempty"`
	Host    string `json:"host,omitempty" doc:"The host of the address that is asked instead of a command; the rest may be secret."`
	Tools   string `json:"tools,omitempty" doc:"Patterns of the tools that it is about; none: all."`
	Source  string `json:"source" doc:"Where it is configured."`
}

// A TriggerSetting is what begins when another service posts that something has happened.
type TriggerSetting struct {
	Name      string   `json:"name"`
	Signature string   `json:"signature"`
	Path      string   `json:"path" doc:"Where the service posts, below the address of the server."`
	When      []string `json:"when,omitempty" doc:"What must hold."`
	User      string   `json:"user" doc:"Whose sessions it begins."`
	Source    string   `json:"source" doc:"Where it is configured."`
}

// A StorageSetting says where sessions are kept, and how many bytes that is.
type StorageSetting struct {
	Directory string `json:"directory"`
	Bytes     int64  `json:"bytes" doc:"All of it."`
	Events    int64  `json:"events" doc:"The database."`
	Outputs   int64  `json:"outputs" doc:"Large outputs, pictures and attachments."`
	Snapshots int64  `json:"snapshots" doc:"What is kept of workspaces, so that sessions can go back."`
	MaxSize   int64  `json:"max_size" doc:"What snapshots may be."`
}

// Deleted parts of the past of workspaces, as every surface shows them.
type (
	Pruned        = surface.Pruned
	PrunedSession = surface.PrunedSession
)

// A ModelChecked is how a model answered.
type ModelChecked struct {
	OK     bool    `json:"ok"`
	Model  string  `json:"model,omitempty"`
	First  float64 `json:"first_token_ms"`
	Whole  float64 `json:"whole_ms"`
	Tools  string  `json:"tools"`
	Vision string  `json:"vision"`
	Error  string  `json:"error,omitempty"`
	Kind   string  `json:"kind,omitempty" doc:"What kind of failure it is, such as auth."`
}

// A NewModel is a model to set up.
type NewModel struct {
	Provider string `json:"provider" maxLength:"100" doc:"One of the providers, or empty with a base_url."`
	BaseURL  string `json:"base_url,omitempty" maxLength:"500"`
	Key      string `json:"key,omitempty" maxLength:"2000" doc:"It is saved, and never returned."`
	Model    string `json:"model" minLength:"1" maxLength:"200"`
}

// administrator returns the host as an [Administrator] if the user may use it as such.
func (s *Server) administrator(ctx context.Context) (Administrator, error) {
	a, ok := s.Host.(Administrator)
	if !ok || !userOf(ctx).Admin {
		return nil, huma.Error403Forbidden("the settings are for administrators of this server")
	}
	return a, nil
}

// body is a response or a request with one value.
type body[T any] struct{ Body T }

// administrators registers an operation for administrators.
func administrators[In, Out any](
	s *Server, route, id, summary string, do func(context.Context, Administrator, *In) (*Out, error), options ...option,
) {
	op(s, route, id, summary, func(ctx context.Context, in *In) (*Out, error) {
		a, err := s.administrator(ctx)
		if err != nil {
			return nil, err
		}
		return do(ctx, a, in)
	}, options...)
}

// settingsRoutes registers the operations on settings.
func (s *Server) settingsRoutes(options ...option) {
	noContent := append(options, status(204))
	const at = "/api/v1/settings"
	administrators(s, "GET "+at, "read-settings", "Read what is configured", func(ctx context.Context, a Administrator, _ *struct{}) (*body[Settings], error) {
		v, err := a.Settings(ctx)
		return &body[Settings]{v}, err
	}, options...)
	administrators(s, "GET "+at+"/sandbox", "explain-sandbox", "Read what commands can and cannot do", func(ctx context.Context, a Administrator, _ *struct{}) (*body[sandboxText], error) {
		text, err := a.Sandbox(ctx)
		return &body[sandboxText]{sandboxText{text}}, err
	}, options...)
	administrators(s, "POST "+at+"/models/check", "check-model", "Ask a model a short question", func(ctx context.Context, a Administrator, in *body[nameOf]) (*body[ModelChecked], error) {
		v, err := a.CheckModel(ctx, in.Body.Name)
		return &body[ModelChecked]{v}, err
	}, options...)
	administrators(s, "POST "+at+"/models", "set-up-model", "Try a model, and save it as the one of new sessions", func(ctx context.Context, a Administrator, in *body[NewModel]) (*struct{}, error) {
		return nil, mendable(a.SetUp(ctx, in.Body))
	}, noContent...)
	administrators(s, "POST "+at+"/models/default", "use-model", "Make a configured model the one of new sessions", func(ctx context.Context, a Administrator, in *body[nameOf]) (*struct{}, error) {
		return nil, mendable(a.UseModel(ctx, in.Body.Name))
	}, noContent...)
	administrators(s, "POST "+at+"/prune", "prune", "Delete what is kept of workspaces beyond what is configured", s.prune, options...)
	s.serverRoutes(options...)
	s.agentRoutes(options...)
	administrators(s, "DELETE "+at+"/decisions/{id}", "forget-decision", "Forget a decision, so that it is asked again", func(ctx context.Context, a Administrator, in *decisionID) (*struct{}, error) {
		return nil, mendable(a.Forget(ctx, in.ID))
	}, noContent...)
}

type (
	sandboxText struct {
		Text string `json:"text"`
	}
	nameOf struct {
		Name string `json:"name" maxLength:"200" doc:"As the settings name it."`
	}
	pruneRequest struct {
		DryRun bool `json:"dry_run,omitempty" doc:"Only say what would be deleted."`
	}
	decisionID struct {
		ID string `path:"id" maxLength:"200"`
	}
)

// prune prunes.
func (s *Server) prune(ctx context.Context, a Administrator, in *body[pruneRequest]) (*body[Pruned], error) {
	p, err := a.Prune(ctx, in.Body.DryRun)
	return &body[Pruned]{p}, mendable(err)
}

// mendable makes an error that is no [FieldError] one that tells the administrator what happened:
// it is about the model or server that they named.
func mendable(err error) error {
	if err = named(err); err == nil || errors.As(err, new(*FieldError)) || errors.As(err, new(huma.StatusError)) {
		return err
	}
	return huma.Error422UnprocessableEntity(err.Error())
}
