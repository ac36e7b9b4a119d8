#!/bin/sh
# Makes the samples of hooks/testfilter/testdata anew: tiny projects, tested by the
# six frameworks as they are, and what those print. It installs what is missing
# (Debian packages, jest from npm) and needs root only for that.
#
# Three kinds of paths are replaced, so that a sample tells nothing of a machine:
# the temporary folder becomes /project, the home folder /home/dev, Go's own folder
# /usr/local/go. Nothing else is changed: times and hashes are what they were.
set -eu
cd "$(dirname "$0")/.."
to=$PWD/hooks/testfilter/testdata
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export LC_ALL=C.UTF-8 TERM=dumb GOFLAGS=-mod=mod GOWORK=off GOTOOLCHAIN=local
unset CI NO_COLOR FORCE_COLOR CARGO_TERM_COLOR CARGO_TARGET_DIR RUST_BACKTRACE PYTEST_ADDOPTS 2>/dev/null || :

missing=
command -v cargo >/dev/null || missing="$missing cargo rustc"
command -v pytest >/dev/null || missing="$missing python3-pytest"
command -v rspec >/dev/null || missing="$missing ruby-rspec"
command -v mix >/dev/null || missing="$missing elixir"
command -v npm >/dev/null || missing="$missing nodejs npm"
if [ -n "$missing" ]; then
	echo "installing$missing" >&2
	apt-get update -qq >&2
	# shellcheck disable=SC2086 # the names are words
	apt-get install -y -qq --no-install-recommends $missing >&2
fi
mkdir -p "$to"

# sample NAME COMMAND… stores what a command prints, both streams in the order in
# which they come. That tests fail is no failure here.
sample() {
	name=$1
	shift
	"$@" >"$work/out" 2>&1 || :
	sed -e "s#$work#/project#g" -e "s#$(go env GOROOT)#/usr/local/go#g" -e "s#$HOME/#/home/dev/#g" "$work/out" >"$to/$name.txt"
	echo "$name: $(wc -l <"$to/$name.txt") lines" >&2
}

# project NAME makes a folder and goes there.
project() { mkdir -p "$work/$1" && cd "$work/$1"; }

### cargo
project cargo
mkdir -p src tests
cat >Cargo.toml <<'END'
[package]
name = "shop"
version = "0.1.0"
edition = "2021"
END
cat >src/lib.rs <<'END'
/// The price with tax, in cents.
///
/// ```
/// assert_eq!(shop::gross(100), 119);
/// ```
pub fn gross(net: u64) -> u64 {
    net * 119 / 100
}

#[cfg(test)]
mod tests {
    use super::*;
END
for i in $(seq 1 40); do
	echo "    #[test] fn gross_of_$i() { assert_eq!(gross($i * 100), $i * 119); }"
done >>src/lib.rs
echo '}' >>src/lib.rs
cat >tests/order.rs <<'END'
#[test]
fn an_order_adds_up() {
    assert_eq!(shop::gross(100) + shop::gross(200), 357);
}

#[test]
#[ignore]
fn slow() {}
END
sample cargo-pass cargo test --offline
cat >>src/lib.rs <<'END'

#[cfg(test)]
mod broken {
    use super::*;

    #[test]
    fn rounds_up() {
        println!("looking at {}", 33);
        assert_eq!(gross(33), 40, "33 cents with tax");
    }

    #[test]
    fn finds_the_customer() {
        let none: Option<u32> = None;
        none.expect("customer 7 is known");
    }

    #[test]
    #[should_panic(expected = "overflow")]
    fn refuses_too_much() {}

    #[test]
    fn reads_the_file() -> Result<(), std::num::ParseIntError> {
        "twelve".parse::<u32>()?;
        Ok(())
    }
}
END
sample cargo-fail cargo test --offline --no-fail-fast
sample cargo-color cargo test --offline --color always -- --color always
sample cargo-quiet cargo test --offline --quiet --lib
cat >tests/abort.rs <<'END'
#[test]
fn falls_down() {
    std::process::abort();
}
END
sample cargo-abort cargo test --offline --test abort
rm tests/abort.rs
cat >tests/wrong.rs <<'END'
#[test]
fn does_not_compile() {
    let n: u32 = "three";
    assert_eq!(shop::net(n), 3);
}
END
sample cargo-error cargo test --offline
rm tests/wrong.rs

### pytest
project pytest
for i in 1 2 3 4; do
	cat >"test_shelf_$i.py" <<END
import pytest


@pytest.mark.parametrize("n", range(30))
def test_counts(n):
    assert n + $i > n


def test_sorted_$i():
    assert sorted([3, 1, 2]) == [1, 2, 3]
END
done
sample pytest-pass pytest -p no:cacheprovider
sample pytest-pass-verbose pytest -p no:cacheprovider -v
cat >test_orders.py <<'END'
import warnings

import pytest


def total(items):
    return sum(price * count for price, count in items)


def test_total_of_nothing():
    assert total([]) == 0


def test_total():
    print("adding up two items")
    items = [(5, 2), (7, 1)]
    assert total(items) == 18, "the total is wrong"


def test_customers():
    want = {"ada": {"orders": [1, 2, 3], "city": "London"}, "bob": {"orders": [], "city": "Rome"}}
    got = {"ada": {"orders": [1, 2], "city": "London"}, "bob": {"orders": [4], "city": "Rome"}}
    assert got == want


class TestStore:
    def test_missing(self):
        def look(store, key):
            return store[key]

        look({}, "apple")

    @pytest.mark.skip(reason="no printer")
    def test_print(self):
        pass

    @pytest.mark.xfail
    def test_known(self):
        assert False


@pytest.fixture
def database():
    raise ConnectionError("the database does not answer")


def test_saves(database):
    assert database


def test_warns():
    warnings.warn("old way", DeprecationWarning)
END
sample pytest-fail pytest -p no:cacheprovider
sample pytest-fail-verbose pytest -p no:cacheprovider -v
sample pytest-fail-short pytest -p no:cacheprovider --tb=short -q
# Where it sees CI, pytest cuts nothing.
sample pytest-fail-line env CI=true pytest -p no:cacheprovider --tb=line
sample pytest-color pytest -p no:cacheprovider --color=yes
cat >test_many.py <<'END'
import pytest


@pytest.mark.parametrize("n", range(40))
def test_even(n):
    rows = [f"row {i}: " + "x" * 60 for i in range(20)]
    assert n % 2 == 0 and len(rows) == n, "\n".join(rows)
END
sample pytest-many env CI=true pytest -p no:cacheprovider test_many.py
sample pytest-stop pytest -p no:cacheprovider -x test_many.py test_orders.py
cat >test_broken.py <<'END'
import no_such_module


def test_never():
    assert no_such_module
END
echo 'def test_syntax(:' >test_syntax.py
sample pytest-error pytest -p no:cacheprovider
rm test_*.py
sample pytest-none pytest -p no:cacheprovider

### jest
project jest
cat >package.json <<'END'
{"name": "shop", "version": "1.0.0", "private": true}
END
npm install --no-audit --no-fund --loglevel=error --save-dev jest@30 >&2
jest() { node node_modules/jest/bin/jest.js "$@"; }
cat >price.js <<'END'
exports.gross = (net) => Math.round(net * 1.19);
END
for i in 1 2 3; do
	cat >"price$i.test.js" <<END
const { gross } = require('./price');

describe('gross $i', () => {
  test.each(Array.from({ length: 20 }, (_, i) => [i]))('of %i', (n) => {
    expect(gross(n * 100)).toBe(n * 119);
  });
});
END
done
sample jest-pass jest
sample jest-pass-verbose jest --verbose
cat >order.test.js <<'END'
const { gross } = require('./price');

describe('an order', () => {
  test('adds up', () => {
    console.log('adding up', 3, 'items');
    expect(gross(100) + gross(200)).toBe(358);
  });

  test('knows its customer', () => {
    const order = { id: 7, customer: { name: 'ada', city: 'London' }, items: [1, 2, 3] };
    expect(order).toEqual({ id: 7, customer: { name: 'ada', city: 'Paris' }, items: [1, 2, 3, 4] });
  });

  describe('when it is empty', () => {
    test('refuses to be sent', async () => {
      const send = async () => { throw new TypeError('nothing to send'); };
      await send();
    });
    test.skip('prints', () => {});
    test.todo('is archived');
  });
});

test('answers in time', () => new Promise(() => {}), 50);
END
sample jest-fail jest
sample jest-fail-verbose jest --verbose order.test.js
sample jest-color jest --colors
cat >wrong.test.js <<'END'
const shop = require('./no-such-file');
test('never runs', () => shop());
END
echo "test('syntax', () => {" >syntax.test.js
sample jest-error jest
rm -f *.test.js
sample jest-none jest

### go
project go
cat >go.mod <<'END'
module example.com/shop

go 1.21
END
for p in price stock order; do
	mkdir -p $p
	cat >$p/$p.go <<END
// Package $p is a sample.
package $p

// Double gives twice n.
func Double(n int) int { return 2 * n }
END
	cat >$p/${p}_test.go <<END
package $p

import (
	"fmt"
	"testing"
)

func TestDouble(t *testing.T) {
	for i := 0; i < 15; i++ {
		t.Run(fmt.Sprint("of_", i), func(t *testing.T) {
			t.Log("doubling", i)
			if got := Double(i); got != i+i {
				t.Errorf("got %d", got)
			}
		})
	}
}

func TestSkipped(t *testing.T) { t.Skip("no printer") }
END
done
mkdir -p plain
echo 'package plain' >plain/plain.go
sample go-pass go test -count=1 ./...
sample go-pass-verbose go test -count=1 -v ./...
sample go-pass-json go test -count=1 -json ./...
cat >order/failing_test.go <<'END'
package order

import (
	"os"
	"strings"
	"testing"
)

func TestTotal(t *testing.T) {
	t.Log("adding up two items")
	if got, want := Double(9), 19; got != want {
		t.Errorf("total: got %d, want %d", got, want)
	}
	t.Run("with_tax", func(t *testing.T) {
		t.Fatalf("tax:\n\tgot  %s\n\twant %s", strings.Repeat("a", 20), strings.Repeat("b", 20))
	})
	t.Run("without_tax", func(t *testing.T) {})
}

func TestFile(t *testing.T) {
	if _, err := os.Open("no-such-file"); err != nil {
		t.Fatal(err)
	}
}

func TestNoisy(t *testing.T) {
	for i := 0; i < 100; i++ {
		t.Logf("line %d of much that is logged", i)
	}
	t.Fail()
}
END
sample go-fail go test -count=1 ./...
sample go-fail-verbose go test -count=1 -v ./...
sample go-fail-json go test -count=1 -json ./...
rm order/failing_test.go
cat >stock/panic_test.go <<'END'
package stock

import "testing"

func TestPanics(t *testing.T) {
	var shelves map[string]int
	shelves["apples"] = 1
}
END
sample go-panic go test -count=1 ./...
sample go-panic-json go test -count=1 -json ./stock
rm stock/panic_test.go
cat >stock/hang_test.go <<'END'
package stock

import "testing"

func TestHangs(t *testing.T) { <-make(chan int) }
END
sed -i 's/<-make(chan int)/select {}/; s/^import "testing"/import (\n\t"testing"\n\t"time"\n)/; s/select {}/time.Sleep(time.Hour)/' stock/hang_test.go
sample go-timeout go test -count=1 -timeout 300ms ./...
rm stock/hang_test.go
cat >price/wrong_test.go <<'END'
package price

import "testing"

func TestWrong(t *testing.T) {
	var n int = "three"
	Triple(n)
}
END
sample go-error go test -count=1 ./...
sample go-error-json go test -count=1 -json ./...
rm price/wrong_test.go

### rspec
project rspec
mkdir -p spec
for i in 1 2 3; do
	cat >"spec/shelf${i}_spec.rb" <<END
RSpec.describe "shelf $i" do
  30.times do |n|
    it "holds #{n} books" do
      expect(Array.new(n, "book").size).to eq n
    end
  end
end
END
done
sample rspec-pass rspec --order defined
sample rspec-pass-doc rspec --order defined --format documentation
cat >spec/order_spec.rb <<'END'
RSpec.describe "an order" do
  it "adds up" do
    expect([5, 7].sum).to eq 13
  end

  it "knows its customer" do
    expect({ name: "ada", city: "London", items: [1, 2, 3] }).to eq({ name: "ada", city: "Paris", items: [1, 2, 3, 4] })
  end

  context "when it is empty" do
    it "is sent" do
      nil.deliver
    end

    it "is printed" do
      skip "no printer"
    end

    it "is archived"
  end

  it "is known to be wrong" do
    pending "later"
    raise "still wrong"
  end
end
END
sample rspec-fail rspec --order defined
sample rspec-fail-doc rspec --order defined --format documentation
sample rspec-color rspec --order defined --force-color
cat >spec/broken_spec.rb <<'END'
require "no_such_library"

RSpec.describe("never") { it("runs") {} }
END
echo 'RSpec.describe "syntax" do' >spec/syntax_spec.rb
sample rspec-error rspec --order defined

### mix
project mix
mkdir -p lib test
cat >mix.exs <<'END'
defmodule Shop.MixProject do
  use Mix.Project

  def project, do: [app: :shop, version: "0.1.0", deps: []]
end
END
cat >lib/shop.ex <<'END'
defmodule Shop do
  def gross(net), do: div(net * 119, 100)
end
END
echo 'ExUnit.start()' >test/test_helper.exs
for i in 1 2 3; do
	cat >"test/price${i}_test.exs" <<END
defmodule Price${i}Test do
  use ExUnit.Case

  for n <- 1..30 do
    test "gross of #{n}" do
      assert Shop.gross(unquote(n) * 100) == unquote(n) * 119
    end
  end
end
END
done
sample mix-pass mix test --seed 0
sample mix-pass-trace mix test --seed 0 --trace
cat >test/order_test.exs <<'END'
defmodule OrderTest do
  use ExUnit.Case

  describe "an order" do
    test "adds up" do
      assert Shop.gross(100) + Shop.gross(200) == 358
    end

    test "knows its customer" do
      order = %{name: "ada", city: "London", items: [1, 2, 3]}
      assert order == %{name: "ada", city: "Paris", items: [1, 2, 3, 4]}
    end
  end

  test "is sent" do
    raise ArgumentError, "nothing to send"
  end

  test "logs" do
    IO.puts("looking at the log")
    assert {:ok, _} = {:error, :enoent}
  end

  @tag :skip
  test "is printed" do
  end

  @tag timeout: 50
  test "answers in time" do
    Process.sleep(:infinity)
  end
end
END
sample mix-fail mix test --seed 0
sample mix-fail-trace mix test --seed 0 --trace --exclude timeout # a trace has no timeouts
sample mix-color mix test --seed 0 --color
cat >test/wrong_test.exs <<'END'
defmodule WrongTest do
  use ExUnit.Case

  test "does not compile" do
    assert undefined_here + 1
  end
end
END
sample mix-error mix test --seed 0
rm test/wrong_test.exs
echo 'defmodule Broken do' >lib/broken.ex
sample mix-error-lib mix test --seed 0

### others: what is no test run passes unchanged
project other
git init -q . 2>/dev/null
git config user.email dev@example.com
git config user.name dev
for text in "Make 1 failed test pass" "Say why 3 passed, 1 failed" "FAIL loudly"; do
	echo "$text" >>notes
	git add notes
	GIT_AUTHOR_DATE="2026-01-01T00:00:00Z" GIT_COMMITTER_DATE="2026-01-01T00:00:00Z" git commit -q -m "$text"
done
sample other-git-log git log --stat
printf 'all: one two\none:\n\t@echo building one\ntwo:\n\t@echo "error: 1 failed"; exit 1\n' >Makefile
sample other-make make
sample other-go-build go build ./nowhere
sample other-go-vet go env -json GOOS GOARCH
sample other-ls ls -la /usr/share/doc/git
