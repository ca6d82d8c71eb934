/**
 * Declarations of callable functions: those of the language, of its text extension, and 1.24's own for lists, regular
 * expressions and URLs. Sources: github.com/google/cel-go v0.10, {checker/standard,ext/strings}.go; 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/library.
 */
import { type CelType, listOf, mapOf, param, typeOf, types, url } from '#apimachinery/cel/types.js';

export interface Overload {
  readonly id: string;
  /** Called as a method of its first argument. */
  readonly onValue: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
  /** Type parameters among the types. */
  readonly params: readonly string[];
}

const a = param('A');
const b = param('B');

const names: Readonly<Record<string, CelType>> = {
  ...types,
  A: a,
  B: b,
  lA: listOf(a),
  lString: listOf(types.string),
  mAB: mapOf(a, b),
  tA: typeOf(a),
  url,
  query: mapOf(types.string, listOf(types.string)),
};

const scalars = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'];
const comparable = ['bool', 'int', 'uint', 'double', 'duration', 'timestamp', 'string', 'bytes'];
const summable = ['int', 'uint', 'double', 'duration'];
const times: readonly (readonly [fn: string, duration: boolean])[] = [
  ['getFullYear', false],
  ['getMonth', false],
  ['getDayOfYear', false],
  ['getDayOfMonth', false],
  ['getDate', false],
  ['getDayOfWeek', false],
  ['getHours', true],
  ['getMinutes', true],
  ['getSeconds', true],
  ['getMilliseconds', true],
];

const lines = `
_?_:_ conditional(bool, A, A) A
_&&_ logical_and(bool, bool) bool
_||_ logical_or(bool, bool) bool
!_ logical_not(bool) bool
@not_strictly_false not_strictly_false(bool) bool
_==_ equals(A, A) bool
_!=_ not_equals(A, A) bool
_-_ subtract_int64(int, int) int
_-_ subtract_uint64(uint, uint) uint
_-_ subtract_double(double, double) double
_-_ subtract_timestamp_timestamp(timestamp, timestamp) duration
_-_ subtract_timestamp_duration(timestamp, duration) timestamp
_-_ subtract_duration_duration(duration, duration) duration
_*_ multiply_int64(int, int) int
_*_ multiply_uint64(uint, uint) uint
_*_ multiply_double(double, double) double
_/_ divide_int64(int, int) int
_/_ divide_uint64(uint, uint) uint
_/_ divide_double(double, double) double
_%_ modulo_int64(int, int) int
_%_ modulo_uint64(uint, uint) uint
_+_ add_int64(int, int) int
_+_ add_uint64(uint, uint) uint
_+_ add_double(double, double) double
_+_ add_string(string, string) string
_+_ add_bytes(bytes, bytes) bytes
_+_ add_list(lA, lA) lA
_+_ add_timestamp_duration(timestamp, duration) timestamp
_+_ add_duration_timestamp(duration, timestamp) timestamp
_+_ add_duration_duration(duration, duration) duration
-_ negate_int64(int) int
-_ negate_double(double) double
_[_] index_list(lA, int) A
_[_] index_map(mAB, A) B
size .string_size(string) int
size .bytes_size(bytes) int
size .list_size(lA) int
size .map_size(mAB) int
size size_string(string) int
size size_bytes(bytes) int
size size_list(lA) int
size size_map(mAB) int
@in in_list(A, lA) bool
@in in_map(A, mAB) bool
type type(A) tA
int int64_to_int64(int) int
int uint64_to_int64(uint) int
int double_to_int64(double) int
int string_to_int64(string) int
int timestamp_to_int64(timestamp) int
int duration_to_int64(duration) int
uint uint64_to_uint64(uint) uint
uint int64_to_uint64(int) uint
uint double_to_uint64(double) uint
uint string_to_uint64(string) uint
double double_to_double(double) double
double int64_to_double(int) double
double uint64_to_double(uint) double
double string_to_double(string) double
bool bool_to_bool(bool) bool
bool string_to_bool(string) bool
string string_to_string(string) string
string bool_to_string(bool) string
string int64_to_string(int) string
string uint64_to_string(uint) string
string double_to_string(double) string
string bytes_to_string(bytes) string
string timestamp_to_string(timestamp) string
string duration_to_string(duration) string
bytes bytes_to_bytes(bytes) bytes
bytes string_to_bytes(string) bytes
timestamp timestamp_to_timestamp(timestamp) timestamp
timestamp string_to_timestamp(string) timestamp
timestamp int64_to_timestamp(int) timestamp
duration duration_to_duration(duration) duration
duration string_to_duration(string) duration
duration int64_to_duration(int) duration
dyn to_dyn(A) dyn
contains .contains_string(string, string) bool
endsWith .ends_with_string(string, string) bool
matches .matches_string(string, string) bool
startsWith .starts_with_string(string, string) bool
charAt .string_char_at_int(string, int) string
indexOf .string_index_of_string(string, string) int
indexOf .string_index_of_string_int(string, string, int) int
indexOf .list_a_index_of_int(lA, A) int
lastIndexOf .string_last_index_of_string(string, string) int
lastIndexOf .string_last_index_of_string_int(string, string, int) int
lastIndexOf .list_a_last_index_of_int(lA, A) int
lowerAscii .string_lower_ascii(string) string
replace .string_replace_string_string(string, string, string) string
replace .string_replace_string_string_int(string, string, string, int) string
split .string_split_string(string, string) lString
split .string_split_string_int(string, string, int) lString
substring .string_substring_int(string, int) string
substring .string_substring_int_int(string, int, int) string
trim .string_trim(string) string
upperAscii .string_upper_ascii(string) string
join .list_join(lString) string
join .list_join_string(lString, string) string
url string_to_url(string) url
isURL is_url_string(string) bool
getScheme .url_get_scheme(url) string
getHost .url_get_host(url) string
getHostname .url_get_hostname(url) string
getPort .url_get_port(url) string
getEscapedPath .url_get_escaped_path(url) string
getQuery .url_get_query(url) query
find .string_find_string(string, string) string
findAll .string_find_all_string(string, string) lString
findAll .string_find_all_string_int(string, string, int) lString
`;

const form = /^(\S+) (\.?)(\w+)\((.*)\) (\w+)$/;

function declared(): ReadonlyMap<string, readonly Overload[]> {
  const all = new Map<string, Overload[]>();
  const add = (fn: string, overload: Omit<Overload, 'params'>): void => {
    const mentioned = JSON.stringify([overload.args, overload.result]);
    const params = ['A', 'B'].filter((name) => mentioned.includes(`"name":"${name}"`));
    all.set(fn, [...(all.get(fn) ?? []), { ...overload, params }]);
  };
  for (const line of lines.trim().split('\n')) {
    const [, fn = '', dot, id = '', args = '', result = ''] = form.exec(line) ?? [];
    add(fn, { id, onValue: dot === '.', args: args.split(', ').map(named), result: named(result) });
  }
  for (const [fn, word] of relations) {
    for (const scalar of scalars) {
      const id = `${word}_${scalar === 'int' || scalar === 'uint' ? `${scalar}64` : scalar}`;
      add(fn, { id, onValue: false, args: [named(scalar), named(scalar)], result: types.bool });
    }
  }
  for (const [fn, duration] of times) {
    const result = types.int;
    add(fn, { id: `timestamp_${fn}`, onValue: true, args: [types.timestamp], result });
    add(fn, { id: `timestamp_${fn}_with_tz`, onValue: true, args: [types.timestamp, types.string], result });
    if (duration) add(fn, { id: `duration_${fn}`, onValue: true, args: [types.duration], result });
  }
  const lists: readonly (readonly [fn: string, of: readonly string[], result?: CelType])[] = [
    ['isSorted', comparable, types.bool],
    ['sum', summable],
    ['max', comparable],
    ['min', comparable],
  ];
  for (const [fn, of, result] of lists) {
    for (const name of of) {
      const element = named(name);
      add(fn, { id: `list_${name}_${fn}`, onValue: true, args: [listOf(element)], result: result ?? element });
    }
  }
  return all;
}

const relations: readonly (readonly [fn: string, word: string])[] = [
  ['_<_', 'less'],
  ['_<=_', 'less_equals'],
  ['_>_', 'greater'],
  ['_>=_', 'greater_equals'],
];

function named(name: string): CelType {
  const entry = names[name];
  if (entry === undefined) throw new Error(`there is no type ${name}`);
  return entry;
}

/** By function name. */
export const functions: ReadonlyMap<string, readonly Overload[]> = declared();

/** Types that expressions may use as values. */
export const typeNames: ReadonlyMap<string, { readonly type: CelType; readonly runtimeName: string }> = new Map(
  [
    ['bool', types.bool],
    ['int', types.int],
    ['uint', types.uint],
    ['double', types.double],
    ['bytes', types.bytes],
    ['string', types.string],
    ['list', listOf(a)],
    ['map', mapOf(a, b)],
    ['null_type', types.null],
    ['type', typeOf(undefined)],
    ['google.protobuf.Duration', types.duration],
    ['google.protobuf.Timestamp', types.timestamp],
  ].map(([name, type]) => [name as string, { type: typeOf(type as CelType), runtimeName: name as string }]),
);
