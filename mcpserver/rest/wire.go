package rest

import (
	"encoding/json"
	"time"

	"github.com/toolscout/toolscout/core"
)

// The types here are those of core with words for the description. Conversions
// keep them alike: a field that is added there does not compile until it is here.

// Page asks for a part of a list.
type Page struct {
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"200" default:"50" doc:"How many items at most."`
	Cursor string `json:"cursor,omitempty" doc:"The nextCursor of the part before."`
}

func (p Page) page() core.Page {
	if p.Limit == 0 {
		p.Limit = core.DefaultLimit
	}
	return core.Page(p)
}

// List is a part of a list.
type List[T any] struct {
	Items      []T    `json:"items" doc:"The items of this part."`
	NextCursor string `json:"nextCursor,omitempty" doc:"Send it as cursor for the next part; missing at the end."`
}

// listOf converts the items of a list.
func listOf[From, To any](l core.List[From], convert func(From) To) List[To] {
	out := List[To]{Items: make([]To, 0, len(l.Items)), NextCursor: l.NextCursor}
	for _, item := range l.Items {
		out.Items = append(out.Items, convert(item))
	}
	return out
}

// User is somebody who may hold tokens.
type User struct {
	ID        string    `json:"id" format:"uuid" doc:"Their id."`
	Name      string    `json:"name" doc:"Their name, unique among the users." example:"ada"`
	Email     string    `json:"email,omitempty" doc:"How to reach them." example:"ada@example.com"`
	Roles     []string  `json:"roles" doc:"What they may do; admin opens the admin routes." example:"[\"engineer\"]"`
	CreatedAt time.Time `json:"createdAt" doc:"When they were added."`
	UpdatedAt time.Time `json:"updatedAt" doc:"When they were last changed."`
}

func userOf(u core.User) User {
	u.Roles = list(u.Roles)
	return User(u)
}

// UserInput is a user to add.
type UserInput struct {
	Name  string   `json:"name" doc:"Their name, unique among the users." example:"ada"`
	Email string   `json:"email,omitempty" doc:"How to reach them." example:"ada@example.com"`
	Roles []string `json:"roles,omitempty" doc:"What they may do; admin opens the admin routes." example:"[\"engineer\"]"`
}

// Token is an API token without its secret.
type Token struct {
	ID         string     `json:"id" format:"uuid" doc:"Its id."`
	UserID     string     `json:"userId" format:"uuid" doc:"Whose it is."`
	Name       string     `json:"name" doc:"What it is for." example:"laptop"`
	Agent      string     `json:"agent,omitempty" doc:"The one agent that may use it."`
	CreatedAt  time.Time  `json:"createdAt" doc:"When it was made."`
	ExpiresAt  *time.Time `json:"expiresAt,omitempty" doc:"When it ends by itself."`
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty" doc:"When it was last used, to the minute."`
	RevokedAt  *time.Time `json:"revokedAt,omitempty" doc:"When it was revoked."`
}

func tokenOf(t core.Token) Token { return Token(t) }

// NewToken is a token with its secret, which is shown this once.
type NewToken struct {
	Token
	Secret string `json:"token" doc:"The secret. It is stored hashed and cannot be shown again." example:"ts_…"`
}

// TokenInput is a token to make.
type TokenInput struct {
	Name      string     `json:"name" doc:"What it is for." example:"laptop"`
	Agent     string     `json:"agent,omitempty" doc:"The one agent that may use it; any when left out."`
	ExpiresAt *time.Time `json:"expiresAt,omitempty" nullable:"true" doc:"When it ends by itself; never when left out."`
}

// Domain is a category of tools.
type Domain struct {
	ID          string `json:"id" doc:"Its id: a slug." example:"code"`
	Name        string `json:"name" doc:"Its name for people." example:"Source code"`
	Description string `json:"description" doc:"What its tools are for."`
	ToolCount   int    `json:"toolCount" doc:"How many tools are in it."`
}

func domainOf(d core.Domain) Domain { return Domain(d) }

// DomainInput describes a domain.
type DomainInput struct {
	Name        string `json:"name,omitempty" doc:"Its name for people; its id when left out." example:"Source code"`
	Description string `json:"description,omitempty" doc:"What its tools are for. Models read it when they choose a domain."`
}

// Model is an embedding model on record.
type Model struct {
	ID         int64     `json:"id" doc:"Its id."`
	Provider   string    `json:"provider" doc:"Who computes it." example:"builtin"`
	Name       string    `json:"name" doc:"Its name."`
	Dimensions int       `json:"dimensions" doc:"The length of its vectors." example:"256"`
	Active     bool      `json:"active" doc:"Whether search uses it."`
	Weight     float64   `json:"weight,omitempty" doc:"The share of meaning against words in a score; missing where the usual one holds."`
	CreatedAt  time.Time `json:"createdAt" doc:"When it was first used."`
}

func modelOf(m core.Model) Model { return Model(m) }

// IndexStatus is how far indexing has come.
type IndexStatus struct {
	Model      string     `json:"model" doc:"The embedding model."`
	Chosen     string     `json:"chosen" doc:"The embedding model that search is to use. After a change, indexing takes it up in a moment." example:"builtin/words-256-v2"`
	State      string     `json:"state" enum:"idle,running" doc:"Whether something is left to do."`
	Total      int        `json:"total" doc:"How many tools there are."`
	Indexed    int        `json:"indexed" doc:"How many of them have a vector."`
	Failed     int        `json:"failed" doc:"How many could not be indexed."`
	StartedAt  *time.Time `json:"startedAt,omitempty" doc:"When the last run began."`
	FinishedAt *time.Time `json:"finishedAt,omitempty" doc:"When it ended."`
	Error      string     `json:"error,omitempty" doc:"What stopped it last."`
}

// IndexInput says what to index.
type IndexInput struct {
	Full bool `json:"full,omitempty" doc:"Make every vector anew, not only those that are missing."`
}

// AuditEntry is one row of the audit.
type AuditEntry struct {
	ID         string          `json:"id" doc:"Its id."`
	Time       time.Time       `json:"time" doc:"When it began."`
	RequestID  string          `json:"requestId" doc:"The request; the same in audit, usage and log."`
	TenantID   string          `json:"-"`
	Level      string          `json:"level" enum:"meta,http,config" doc:"A meta-tool over MCP, the same over REST, or a change of configuration."`
	Action     string          `json:"action" doc:"What was done." example:"execute_tool"`
	ActorID    string          `json:"actorId,omitempty" doc:"Who did it."`
	Actor      string          `json:"actor,omitempty" doc:"Their name at that time."`
	Agent      string          `json:"agent,omitempty" doc:"The program that acted for them."`
	ToolID     string          `json:"toolId,omitempty" doc:"The tool in question."`
	ToolName   string          `json:"toolName,omitempty" doc:"Its name at that time."`
	ServerID   string          `json:"serverId,omitempty" doc:"The server in question."`
	ServerName string          `json:"serverName,omitempty" doc:"Its name at that time."`
	Outcome    core.Outcome    `json:"outcome" enum:"ok,denied,invalid,failed,timeout,rejected" doc:"How it ended."`
	ErrorKind  core.Kind       `json:"errorKind,omitempty" doc:"The kind of the refusal."`
	DurationMs float64         `json:"durationMs" doc:"How long it took, in milliseconds."`
	Details    json.RawMessage `json:"details,omitempty" doc:"More, depending on the action."`
}

func auditEntryOf(e core.AuditEntry) AuditEntry { return AuditEntry(e) }

// UsageEntry is one real call of a real tool.
type UsageEntry struct {
	AuditEntry
	SchemaHash string `json:"schemaHash,omitempty" doc:"The hash of the tool's definition as it was called."`
}

func usageEntryOf(e core.UsageEntry) UsageEntry {
	return UsageEntry{AuditEntry: AuditEntry(e.AuditEntry), SchemaHash: e.SchemaHash}
}
