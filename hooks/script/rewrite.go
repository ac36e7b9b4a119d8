package script

import (
	"go.starlark.net/syntax"
)

// Names that the rewritten tree calls. None can be written in a script.
const (
	nameMethod = ".()"   // x.name(args…)
	nameAttr   = ".name" // x.name
	nameSpread = "*args"
	nameKey    = "[key]"
	nameDict   = "{}"
	nameSlice  = "[:]"
	nameStride = "[::]"
	nameUpdate = "[]=" // x[i] op= y
)

// checked are the binary operators whose cost is not constant.
var checked = map[syntax.Token]bool{
	syntax.PLUS: true, syntax.MINUS: true, syntax.STAR: true, syntax.PERCENT: true,
	syntax.PIPE: true, syntax.AMP: true, syntax.CIRCUMFLEX: true, syntax.LTLT: true,
	syntax.IN: true, syntax.NOT_IN: true,
	syntax.EQL: true, syntax.NEQ: true, syntax.LT: true, syntax.LE: true, syntax.GT: true, syntax.GE: true,
}

// rewrite replaces, in place, what one step could do without bound by calls of
// builtins that charge for it first. Positions stay.
func rewrite(f *syntax.File) { statements(f.Stmts) }

func statements(list []syntax.Stmt) {
	for i, s := range list {
		list[i] = statement(s)
	}
}

func statement(s syntax.Stmt) syntax.Stmt {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		return assignment(s)
	case *syntax.DefStmt:
		parameters(s.Params)
		statements(s.Body)
	case *syntax.ExprStmt:
		s.X = expression(s.X)
	case *syntax.ForStmt:
		s.Vars, s.X = target(s.Vars), expression(s.X)
		statements(s.Body)
	case *syntax.WhileStmt:
		s.Cond = expression(s.Cond)
		statements(s.Body)
	case *syntax.IfStmt:
		s.Cond = expression(s.Cond)
		statements(s.True)
		statements(s.False)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = expression(s.Result)
		}
	}
	return s
}

// assignment turns x += y into x = "+="(x, y), and x[i] += y into a call that
// looks x[i] up once.
func assignment(s *syntax.AssignStmt) syntax.Stmt {
	s.RHS = expression(s.RHS)
	if s.Op == syntax.EQ {
		s.LHS = target(s.LHS)
		return s
	}
	op := s.Op - syntax.PLUS_EQ + syntax.PLUS
	switch to := unparen(s.LHS).(type) {
	case *syntax.Ident:
		if !checked[op] {
			return s
		}
		read := &syntax.Ident{NamePos: to.NamePos, Name: to.Name}
		s.RHS = call(s.Op.String(), s.OpPos, read, s.RHS)
		s.Op, s.LHS = syntax.EQ, to
	case *syntax.IndexExpr:
		token := &syntax.Literal{Token: syntax.STRING, TokenPos: s.OpPos, Raw: `""`, Value: s.Op.String()}
		return &syntax.ExprStmt{X: call(nameUpdate, s.OpPos, expression(to.X), key(to.Y), token, s.RHS)}
	default:
		s.LHS = target(s.LHS)
	}
	return s
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

// target is an expression that is assigned to.
func target(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		e.X = target(e.X)
	case *syntax.TupleExpr:
		targets(e.List)
	case *syntax.ListExpr:
		targets(e.List)
	case *syntax.IndexExpr:
		e.X, e.Y = expression(e.X), key(e.Y)
	case *syntax.DotExpr:
		e.X = expression(e.X)
	}
	return e
}

func targets(list []syntax.Expr) {
	for i, e := range list {
		list[i] = target(e)
	}
}

func parameters(list []syntax.Expr) {
	for _, p := range list {
		if withDefault, ok := p.(*syntax.BinaryExpr); ok {
			withDefault.Y = expression(withDefault.Y)
		}
	}
}

func expressions(list []syntax.Expr) {
	for i, e := range list {
		list[i] = expression(e)
	}
}

// optional is expression for the parts that may be left out.
func optional(e syntax.Expr) syntax.Expr {
	if e == nil {
		return nil
	}
	return expression(e)
}

func expression(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.BinaryExpr:
		return binary(e)
	case *syntax.CallExpr:
		return callExpression(e)
	case *syntax.Comprehension:
		comprehension(e)
	case *syntax.CondExpr:
		e.Cond, e.True, e.False = expression(e.Cond), expression(e.True), expression(e.False)
	case *syntax.DictEntry:
		e.Key, e.Value = key(e.Key), expression(e.Value)
	case *syntax.DictExpr:
		expressions(e.List)
		return call(nameDict, e.Lbrace, e)
	case *syntax.DotExpr:
		return call(nameAttr, e.Dot, expression(e.X), text(e.Name))
	case *syntax.IndexExpr:
		e.X, e.Y = expression(e.X), key(e.Y)
	case *syntax.LambdaExpr:
		parameters(e.Params)
		e.Body = expression(e.Body)
	case *syntax.ListExpr:
		expressions(e.List)
	case *syntax.ParenExpr:
		e.X = expression(e.X)
	case *syntax.SliceExpr:
		e.X, e.Lo, e.Hi, e.Step = expression(e.X), optional(e.Lo), optional(e.Hi), optional(e.Step)
		if e.Step == nil {
			return call(nameSlice, e.Lbrack, e)
		}
		return call(nameStride, e.Lbrack, e)
	case *syntax.TupleExpr:
		expressions(e.List)
	case *syntax.UnaryExpr:
		e.X = optional(e.X)
	}
	return e
}

func binary(e *syntax.BinaryExpr) syntax.Expr {
	e.X, e.Y = expression(e.X), expression(e.Y)
	if !checked[e.Op] || cheap(e) {
		return e
	}
	return call(e.Op.String(), e.OpPos, e.X, e.Y)
}

// cheap reports a comparison with a literal, which costs no more than the literal.
func cheap(e *syntax.BinaryExpr) bool {
	switch e.Op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		return literal(e.X) || literal(e.Y)
	}
	return false
}

func literal(e syntax.Expr) bool {
	_, ok := e.(*syntax.Literal)
	return ok
}

func callExpression(e *syntax.CallExpr) syntax.Expr {
	for i, a := range e.Args {
		e.Args[i] = argument(a)
	}
	dot, ok := e.Fn.(*syntax.DotExpr)
	if !ok {
		e.Fn = expression(e.Fn)
		return e
	}
	args := append([]syntax.Expr{expression(dot.X), text(dot.Name)}, e.Args...)
	return &syntax.CallExpr{Fn: ident(nameMethod, dot.Dot), Lparen: e.Lparen, Args: args, Rparen: e.Rparen}
}

func argument(a syntax.Expr) syntax.Expr {
	switch a := a.(type) {
	case *syntax.UnaryExpr:
		if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
			a.X = call(nameSpread, a.OpPos, expression(a.X))
			return a
		}
	case *syntax.BinaryExpr:
		if a.Op == syntax.EQ {
			a.Y = expression(a.Y)
			return a
		}
	}
	return expression(a)
}

func comprehension(e *syntax.Comprehension) {
	e.Body = expression(e.Body)
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			c.Vars, c.X = target(c.Vars), expression(c.X)
		case *syntax.IfClause:
			c.Cond = expression(c.Cond)
		}
	}
}

// key is an expression that is looked up or stored under.
func key(e syntax.Expr) syntax.Expr {
	if literal(e) {
		return e
	}
	e = expression(e)
	return call(nameKey, syntax.Start(e), e)
}

func call(name string, at syntax.Position, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: ident(name, at), Lparen: at, Args: args, Rparen: at}
}

func ident(name string, at syntax.Position) *syntax.Ident {
	return &syntax.Ident{NamePos: at, Name: name}
}

func text(name *syntax.Ident) *syntax.Literal {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: name.NamePos, Raw: `""`, Value: name.Name}
}
