package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/toolscout/toolscout/core"
)

// NearestQuery asks for the tools nearest to a query.
type NearestQuery struct {
	ModelID int64
	// Servers is the allowed set: no tool of another server is ever given.
	Servers ServerIDs
	// Except turns Servers around: they are the ones whose tools are not given, a
	// shorter list where almost all are allowed. Tools of a server that the caller
	// has not heard of may come along then, and the caller has to drop them.
	Except bool
	// Domain narrows down further, unless empty.
	Domain string
	// Vectors are the query's, of the model's dimension and of unit length: the
	// whole query first, then each of its clauses.
	Vectors [][]float32
	Limit   int
	// And are tools that are wanted too, near or not, of whichever server.
	And []uuid.UUID
	// Exact compares with every allowed tool. Otherwise the HNSW index is used, if
	// there is one, and may miss some.
	Exact bool
}

// ToolCosines are the cosines of a tool with each vector of a query, in order.
type ToolCosines struct {
	ToolID   uuid.UUID
	ServerID uuid.UUID
	Cosines  []float32
}

// The operator <#> is the negative inner product, which for unit vectors is the
// negative cosine; it costs less than the cosine distance and uses the same index.

// Nearest gives the tools that rank highest by the cosine with the whole query
// plus, where there are clauses, the cosine with the nearest of them; the best
// first.
//
// The statements are planned for the values they get: a plan made for any values
// uses the HNSW index where few tools are allowed, and then finds almost none.
func (s *Store) Nearest(ctx context.Context, q NearestQuery) ([]ToolCosines, error) {
	if err := checkVectors(q.Vectors); err != nil {
		return nil, err
	}
	query, args := q.statement()
	return s.nearest(ctx, query, args, len(q.Vectors), q.Limit+len(q.And))
}

// statement is what the database is asked.
func (q NearestQuery) statement() (string, pgx.StrictNamedArgs) {
	args := pgx.StrictNamedArgs{"model": q.ModelID, "limit": max(q.Limit, 1)}
	for i, v := range q.Vectors {
		args[fmt.Sprintf("v%d", i)] = pgvector.NewHalfVector(v)
	}
	allowed := ` from tool_embeddings e where e.model_id = @model` + servers(q, args)
	if q.Domain != "" {
		args["domain"] = clean(q.Domain)
	}
	switch {
	case q.Domain != "" && q.Exact:
		allowed = ` from tool_embeddings e join mcp_servers s on s.id = e.server_id
			where e.model_id = @model and coalesce(e.domain, s.domain) = @domain` + servers(q, args)
	case q.Domain != "": // a join does not keep the order of the graph index, and "=" seems to leave too little
		allowed += ` and (@domain in (select coalesce(e.domain, s.domain) from mcp_servers s where s.id = e.server_id)) is true`
	}
	query := exactQuery(allowed, len(q.Vectors))
	if !q.Exact {
		query = indexQuery(allowed, len(q.Vectors), len(q.Vectors[0]))
	}
	if len(q.And) > 0 {
		args["and"] = asBytes(q.And)
		query = fmt.Sprintf(`(%s) union all (select e.tool_id, e.server_id, %s from tool_embeddings e
			where e.tool_id = any(@and) and e.model_id = @model)`, query, cosines(len(q.Vectors)))
	}
	return query, args
}

// nearest reads what a query gives, about so many rows.
func (s *Store) nearest(ctx context.Context, query string, args pgx.StrictNamedArgs, vectors, about int) ([]ToolCosines, error) {
	rows, err := s.pool.Query(ctx, query, pgx.QueryExecModeCacheDescribe, args)
	if err != nil {
		return nil, wrap("find nearest tools", err)
	}
	found := make([]ToolCosines, 0, about)
	values := make([]float32, 0, about*vectors)
	var row ToolCosines
	row.Cosines = make([]float32, vectors)
	into := []any{(*[16]byte)(&row.ToolID), (*[16]byte)(&row.ServerID)} // named types would go by way of a text
	for i := range row.Cosines {
		into = append(into, &row.Cosines[i])
	}
	_, err = pgx.ForEachRow(rows, into, func() error {
		values = append(values, row.Cosines...)
		found = append(found, ToolCosines{row.ToolID, row.ServerID, values[len(values)-vectors : len(values) : len(values)]})
		return nil
	})
	return found, wrap("find nearest tools", err)
}

// servers is the condition on the servers of a query. The list is hidden from the
// planner, which would look each of thousands of ids up in its statistics (1 to 10 ms),
// and would then choose the path by that. So it is we who choose: a list of the
// allowed can use the index on servers when all rows are to be compared, and nothing
// but the order can use an index otherwise.
func servers(q NearestQuery, args pgx.StrictNamedArgs) string {
	if q.Except && len(q.Servers) == 0 {
		return ``
	}
	args["servers"] = q.Servers
	if q.Servers == nil {
		args["servers"] = ServerIDs{}
	}
	switch {
	case q.Except:
		return ` and (e.server_id in (select unnest(@servers::uuid[]))) is not true`
	case q.Exact:
		return ` and e.server_id = any(array(select unnest(@servers::uuid[])))`
	}
	return ` and (e.server_id in (select unnest(@servers::uuid[]))) is true`
}

// exactQuery reads the vector of every allowed tool once. The sum, if only with 0,
// keeps the planner from the HNSW index, which cannot give this order.
func exactQuery(allowed string, vectors int) string {
	return fmt.Sprintf(`
		select e.tool_id, e.server_id, %[1]s
		from (select e.tool_id, e.server_id, e.emb %[2]s order by %[3]s limit @limit) e
		order by %[3]s`, cosines(vectors), allowed, rank(vectors))
}

// indexQuery takes the nearest of each vector by the HNSW index of the model, and
// ranks all of those.
func indexQuery(allowed string, vectors, dimensions int) string {
	nearest := make([]string, vectors)
	for i := range nearest {
		nearest[i] = fmt.Sprintf(`(select e.tool_id %s
			order by e.emb::halfvec(%[2]d) <#> @v%[3]d::halfvec(%[2]d) limit @limit)`, allowed, dimensions, i)
	}
	return fmt.Sprintf(`
		select e.tool_id, e.server_id, %s
		from tool_embeddings e where e.model_id = @model and e.tool_id = any(array(%s))
		order by %s limit @limit`, cosines(vectors), strings.Join(nearest, " union "), rank(vectors))
}

// cosines are the columns of ToolCosines.Cosines.
func cosines(vectors int) string {
	columns := make([]string, vectors)
	for i := range columns {
		columns[i] = fmt.Sprintf(`(-(e.emb <#> @v%d::halfvec))::real`, i)
	}
	return strings.Join(columns, ", ")
}

// rank is what Nearest orders by, the smallest first.
func rank(vectors int) string {
	if vectors == 1 {
		return `(e.emb <#> @v0::halfvec) + 0`
	}
	clauses := make([]string, vectors-1)
	for i := range clauses {
		clauses[i] = fmt.Sprintf(`e.emb <#> @v%d::halfvec`, i+1)
	}
	return `(e.emb <#> @v0::halfvec) + least(` + strings.Join(clauses, ", ") + `)`
}

// checkVectors is InvalidParams for vectors that cannot be compared.
func checkVectors(vectors [][]float32) error {
	if len(vectors) == 0 || len(vectors[0]) == 0 {
		return core.Errorf(core.InvalidParams, "a query needs a vector")
	}
	for _, v := range vectors {
		if len(v) != len(vectors[0]) {
			return core.Errorf(core.InvalidParams, "the vectors of a query have different dimensions")
		}
	}
	return nil
}
