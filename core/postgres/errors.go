package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/toolscout/toolscout/core"
)

// refusals says what the violation of each constraint means to a caller.
var refusals = map[string]struct {
	kind    core.Kind
	message string
}{
	"users_name_unique":   {core.Conflict, "there is already a user of this name"},
	"users_name_valid":    {core.InvalidParams, "a user's name has 1 to 100 characters, without control characters or spaces at its ends"},
	"users_email_valid":   {core.InvalidParams, "this is not an e-mail address"},
	"users_roles_valid":   {core.InvalidParams, "a user has at most 64 roles, each with a name of at most 100 characters"},
	"users_tenant_fkey":   {core.NotFound, "there is no such tenant"},
	"tenants_name_unique": {core.Conflict, "there is already a tenant of this name"},

	"api_tokens_name_valid":     {core.InvalidParams, "a token's name has 1 to 100 characters, without control characters"},
	"api_tokens_agent_valid":    {core.InvalidParams, "an agent's name has at most 100 characters, without control characters"},
	"api_tokens_secret_unique":  {core.Conflict, "this token exists already"},
	"api_tokens_expiry_finite":  {core.InvalidParams, "a token's expiry is a date, or left out"},
	"api_tokens_user_fkey":      {core.NotFound, "there is no such user"},
	"domains_id_valid":          {core.InvalidParams, "a domain's id has 1 to 63 characters: small letters, digits, - and _, the first a letter or digit"},
	"domains_name_valid":        {core.InvalidParams, "a domain's name has 1 to 100 characters, without control characters"},
	"domains_description_valid": {core.InvalidParams, "a domain's description has at most 4,000 characters"},
	"domains_tenant_fkey":       {core.NotFound, "there is no such tenant"},

	"mcp_servers_name_unique":           {core.Conflict, "there is already a server of this name"},
	"mcp_servers_name_valid":            {core.InvalidParams, "a server's name has 1 to 100 characters, without control characters or spaces at its ends"},
	"mcp_servers_description_valid":     {core.InvalidParams, "a server's description has at most 10,000 characters"},
	"mcp_servers_transport_known":       {core.InvalidParams, "a server's transport is stdio, http or sse"},
	"mcp_servers_url_valid":             {core.InvalidParams, "a server's URL starts with http://, https:// or a ${NAME} reference, and has no spaces"},
	"mcp_servers_prefix_valid":          {core.InvalidParams, "a server's prefix has at most 64 characters: letters, digits, - _ . and /"},
	"mcp_servers_visibility_known":      {core.InvalidParams, "a server's visibility is visible, hidden or user"},
	"mcp_servers_isolation_known":       {core.InvalidParams, "a server's isolation is shared, user or session"},
	"mcp_servers_timeout_valid":         {core.InvalidParams, "a server's timeout is between 0 and 24 hours"},
	"mcp_servers_status_known":          {core.InvalidParams, "a server's status is active or inactive"},
	"mcp_servers_target_valid":          {core.InvalidParams, "a stdio server has a command, and no URL or headers; any other has a URL, and no command or arguments"},
	"mcp_servers_owner_with_visibility": {core.InvalidParams, "an owner goes with the visibility user, and the visibility user with an owner"},
	"mcp_servers_owner_fkey":            {core.InvalidParams, "the owner is not a user"},
	"mcp_servers_tenant_fkey":           {core.NotFound, "there is no such tenant"},

	"user_mcp_preferences_user_fkey":      {core.NotFound, "there is no such user"},
	"user_mcp_preferences_server_fkey":    {core.NotFound, "there is no such server"},
	"mcp_server_tools_server_fkey":        {core.NotFound, "there is no such server"},
	"mcp_server_tools_pkey":               {core.Conflict, "this id is that of another tool"},
	"mcp_server_tools_name_valid":         {core.InvalidParams, "a tool's name has 1 to 1,000 characters"},
	"mcp_server_tools_origin_name_valid":  {core.InvalidParams, "a tool's name has 1 to 1,000 characters"},
	"mcp_server_resources_server_fkey":    {core.NotFound, "there is no such server"},
	"mcp_server_prompts_server_fkey":      {core.NotFound, "there is no such server"},
	"embedding_models_name_unique":        {core.Conflict, "there is already a model of this name"},
	"embedding_models_provider_valid":     {core.InvalidParams, "an embedding provider's name has 1 to 200 characters"},
	"embedding_models_name_valid":         {core.InvalidParams, "an embedding model's name has 1 to 200 characters"},
	"embedding_models_weight_valid":       {core.InvalidParams, "the weight of an embedding model is above 0 and below 1"},
	"embedding_models_dimensions_valid":   {core.InvalidParams, "an embedding model has 1 to 4,000 dimensions"},
	"tool_embeddings_model_fkey":          {core.NotFound, "there is no such embedding model"},
	"embedding_tables_model_fkey":         {core.Conflict, "another table was chosen at this moment: try again"},
	"embedding_tables_data_valid":         {core.InvalidParams, "an adapted table has 1 byte to 16 MiB"},
	"mcp_hooks_name_unique":               {core.Conflict, "there is already a hook of this name in this scope"},
	"mcp_hooks_name_valid":                {core.InvalidParams, "a hook's name has 1 to 100 characters, without control characters"},
	"mcp_hooks_type_valid":                {core.InvalidParams, "a hook's type is a name in small letters, digits and underscores"},
	"mcp_hooks_level_known":               {core.InvalidParams, "a hook's level is meta, tool or both"},
	"mcp_hooks_mode_known":                {core.InvalidParams, "a hook's mode is enforce, observe or background"},
	"mcp_hooks_on_error_known":            {core.InvalidParams, "a hook's onError is fail, ignore or disable"},
	"mcp_hooks_timeout_valid":             {core.InvalidParams, "a hook's timeout is between 0 and 24 hours"},
	"mcp_hooks_tenant_fkey":               {core.NotFound, "there is no such tenant"},
	"mcp_hooks_user_fkey":                 {core.InvalidParams, "there is no such user"},
	"mcp_hooks_server_fkey":               {core.InvalidParams, "there is no such server"},
	"mcp_hooks_owned_by_user":             {core.InvalidParams, "a user's own hook has a user"},
	"mcp_hooks_lists_valid":               {core.InvalidParams, "a hook's events, servers and agents are lists of text"},
	"mcp_hooks_dates_finite":              {core.InvalidParams, "a hook's dates are finite"},
	"results_page_valid":                  {core.InvalidParams, "a result is read 1 byte to 16 MiB at a time"},
	"results_size_valid":                  {core.InvalidParams, "a result's size is that of its body"},
	"results_tenant_fkey":                 {core.NotFound, "there is no such tenant"},
	"results_user_fkey":                   {core.NotFound, "there is no such user"},
	"results_server_fkey":                 {core.NotFound, "there is no such server"},
	"events_type_valid":                   {core.InvalidParams, "an event's type has 1 to 200 characters, without control characters"},
	"events_tenant_fkey":                  {core.NotFound, "there is no such tenant"},
	"append_only":                         {core.Denied, "the audit can only grow: its rows are neither changed nor deleted"},
	"mcp_config_audit_level_known":        {core.InvalidParams, "an audit entry's level is meta, http or config"},
	"mcp_config_audit_outcome_known":      {core.InvalidParams, "an audit entry's outcome is none of those that there are"},
	"tool_usage_level_known":              {core.InvalidParams, "a usage entry's level is meta, http or config"},
	"tool_usage_outcome_known":            {core.InvalidParams, "a usage entry's outcome is none of those that there are"},
	"mcp_server_tools_origin_name_unique": {core.Conflict, "the server has two tools of this name"},
	"mcp_servers_origin_known":            {core.InvalidParams, "a server comes from the API or from the file"},
	"mcp_servers_era_known":               {core.InvalidParams, "a server's era is modern or legacy"},
	"mcp_servers_health_known":            {core.InvalidParams, "a server's health is none of the known states"},
	"embedding_models_one_active":         {core.Conflict, "another model is being activated at this moment"},
	"api_tokens_secret_is_sha256":         {core.InvalidParams, "a token's hash is a SHA-256"},
	"mcp_servers_domain_fkey":             {core.InvalidParams, "there is no such domain"},
}

// wrap tells an error as that of an operation, with what the database said put
// into words that a caller can act on. It is the only way out of this package for
// a driver's error. Nil stays nil.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, translate(err))
}

func translate(err error) error {
	var known *core.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return translateRefusal(refused, err)
	}
	if unreachable(err) {
		return core.Errorf(core.Unavailable, "the database cannot be reached").Because(err)
	}
	return err
}

// translateRefusal handles what Postgres itself answered. Codes:
// https://www.postgresql.org/docs/17/errcodes-appendix.html
func translateRefusal(e *pgconn.PgError, err error) error {
	if r, ok := refusals[e.ConstraintName]; ok && e.ConstraintName != "" {
		return core.Errorf(r.kind, "%s", r.message).Because(err)
	}
	switch {
	case e.Code == "57014": // statement_timeout; a caller who gave up is a context error
		return core.Errorf(core.Timeout, "the database took too long to answer").Because(err)
	case strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "57P"), // connection lost, shutting down
		strings.HasPrefix(e.Code, "53"),                    // out of connections, memory, disk
		strings.HasPrefix(e.Code, "28"), e.Code == "3D000", // wrong credentials, no such database
		e.Code == "25006", // read-only: a standby
		e.Code == "25P03": // idle in transaction for too long
		return core.Errorf(core.Unavailable, "the database cannot be used at the moment").Because(err)
	case e.Code == "22021", e.Code == "22P05", e.Code == "22P02", e.Code == "54001", e.Code == "54000":
		return core.Errorf(core.InvalidParams, "the database cannot store this text").Because(err)
	case e.Code == "22000": // what pgvector says of dimensions and of NaN
		return core.Errorf(core.InvalidParams, "a vector does not fit the embedding model").Because(err)
	case e.Code == "42P01", e.Code == "3F000": // undefined table, schema
		return core.Errorf(core.Unavailable, "the database has not been migrated").Because(err)
	}
	return err
}

// Away reports whether an error of this package means that the database does not
// answer, or is starting or shutting down: waiting may help then, as it does not
// against a wrong password, an old extension or a schema that is too new.
func Away(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return strings.HasPrefix(refused.Code, "08") || strings.HasPrefix(refused.Code, "57P") || strings.HasPrefix(refused.Code, "53")
	}
	return unreachable(err)
}

// unreachable reports whether err means that there is no connection, as opposed
// to an answer. A caller's own deadline, met while waiting for an answer, is not.
func unreachable(err error) bool {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var network net.Error
	return errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, puddle.ErrClosedPool)
}

// checkID is NotFound for what cannot be an id, so that it never reaches a query.
// Only the usual form of 36 characters counts.
func checkID(what, id string) error {
	if !isID(id) {
		return notFound(what)
	}
	return nil
}

func isID(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }

func notFound(what string) error { return core.Errorf(core.NotFound, "there is no such %s", what) }

// newID makes an id that sorts by the time it was made.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
