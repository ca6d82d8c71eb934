/**
 * Every numbered rule and table cell of specification 1 in brief, by the file of its tests: `4.4.2` is rule 2 of section 4.4,
 * `4.6 list …` a cell of a table of 4.6. Tests name the rules that they cover with `covers`; `rules.test.ts` detects rules
 * without a test.
 */
import type { Test } from 'tap';

type File =
  | 'addressing'
  | 'authentication'
  | 'deletion'
  | 'dry-run'
  | 'event-validation'
  | 'events'
  | 'failures'
  | 'names'
  | 'paging'
  | 'representations'
  | 'resource-versions'
  | 'watch-forms'
  | 'watches';

const table = {
  addressing: {
    '1 verbs': 'GET, POST, PUT, PATCH and DELETE do what they say',
    '1 subresources': 'parts of an object below its path, authorized by themselves',
    '4.1 cluster collection': 'GET of a cluster-scoped collection, or of all namespaces',
    '4.1 cluster object': 'GET of a cluster-scoped object',
    '4.1 namespaced collection': 'GET of a collection in a namespace',
    '4.1 namespaced object': 'GET of a namespaced object',
    '4.1 cluster subresource': 'GET of a subresource of a cluster-scoped object',
    '4.1 namespaced subresource': 'GET of a subresource of a namespaced object',
    '4.1 namespaces': 'GET of all namespaces',
    '4.1 namespace': 'GET of one namespace',
    '4.1.1': 'single-object verbs act on one object; list, watch and deletecollection on many',
    '4.1.2': 'PUT creates or updates, PATCH is neither',
    '4.1.3': 'GET with watch is a watch',
    '4.1.4': 'no subresource across objects; verbs differ per subresource',
    '4.1.5': 'server-side apply',
    '4.1.6': 'patch content types',
    '4.2 watch': 'parameter watch',
    '4.2 resourceVersion': 'parameter resourceVersion',
    '4.2 resourceVersionMatch': 'parameter resourceVersionMatch',
    '4.2 allowWatchBookmarks': 'parameter allowWatchBookmarks',
    '4.2 limit': 'parameter limit',
    '4.2 continue': 'parameter continue',
    '4.2 dryRun': 'parameter dryRun',
    '4.2 pretty': 'parameter pretty',
    '4.2 force': 'parameter force',
    '9.1': 'a group and a version in every path; core below /api/v1',
    '9.2': 'events and Tables have the versions of the specification',
    '9.3': 'resourceVersionMatch and dry run are served',
    '9.4': 'version 1.24',
  },
  authentication: {
    '5.1': 'callers without credentials or rights are refused on every operation of events',
    '5.2': 'a dry run takes the rights of the real request',
    '5.3': 'rules of apiGroups, resources and verbs',
    '5.4': 'bearer tokens and client certificates',
    '7 401': '401 for each operation of events',
  },
  deletion: {
    '3.1 live': 'a delete marks the object with the current time',
    '3.1 finalizing, some remain': 'it stays while finalizers remain',
    '3.1 finalizing, last removed': 'it goes with its last finalizer',
    '3.1.1': 'finalizers are a shared list without an order',
    '3.1.2': 'a watch from before the kept history fails with 410',
    '2.3 deletionTimestamp': 'set when deletion is first asked for',
    '2.3 finalizers': 'shared list of strings',
  },
  'dry-run': {
    '1 dry run': 'writes can be tried',
    '4.7.1': 'All runs every stage but the storing; no value changes nothing',
    '4.7.2': 'nothing is stored, nothing else happens',
    '4.7.3': 'fails where admission would have side effects',
    '4.7.4': 'generated values may differ',
    '7 side effects': 'the failure of such a dry run',
  },
  'event-validation': {
    '2.8 eventTime': 'required',
    '2.8 action': 'not empty, at most 128 characters',
    '2.8 reason': 'not empty, at most 128 characters',
    '2.8 note': 'at most 1 kB written, 64 kB read',
    '2.8 type': 'Normal or Warning',
    '2.8 regarding': 'the object it is about',
    '2.8 related': 'a second object',
    '2.8 reportingController': 'not empty',
    '2.8 reportingInstance': 'not empty, at most 128 characters',
    '2.8 series': 'absent for a single event',
    '2.8 series.count': 'required in a series',
    '2.8 series.lastObservedTime': 'required in a series',
    '2.8 deprecatedCount': 'of the older form only',
    '2.8 deprecatedFirstTimestamp': 'of the older form only',
    '2.8 deprecatedLastTimestamp': 'of the older form only',
    '2.8 deprecatedSource': 'of the older form only',
    '8 words': 'lengths of action, reason and reportingInstance',
    '8 note': 'length of note',
  },
  events: {
    '1 events': 'events are informational and kept for a while',
    '2.8 list': 'EventList has items',
    '3.2': 'events have no states',
    '4.3 get': 'GET of an event',
    '4.3 list namespace': 'GET of the events of a namespace',
    '4.3 list all': 'GET of all events',
    '4.3 create': 'POST of an event',
    '4.3 update': 'PUT of an event',
    '4.3 patch': 'PATCH of an event',
    '4.3 delete': 'DELETE of an event',
    '4.3 deletecollection': 'DELETE of the events of a namespace, answered with a Status',
    '6.4': 'reporters create events',
  },
  failures: {
    '7 400': 'invalid combinations of parameters',
    '7 406': 'nothing acceptable',
    '7 410': 'expired versions and tokens',
    '7 504': 'versions that do not come',
    '7 Retry-After': 'seconds to wait',
  },
  names: {
    '2.1': 'object kinds are stored, virtual ones are operations',
    '2.2.1': 'unique names make creation idempotent; operations need none',
    '2.2.2': 'one name once per namespace, free again after deletion',
    '2.2.3': 'cluster-scoped names are unique in the cluster',
    '2.2.4': 'objects go with their namespace and are authorized in it',
    '2.3 name': 'unique, or generated',
    '2.3 generateName': 'makes a unique random name',
    '2.3 namespace': 'of a namespaced object',
    '2.3 uid': 'unique and random',
    '2.3 resourceVersion': 'changes with every modification',
    '2.3 creationTimestamp': 'time of creation',
    '2.3 labels': 'labels and annotations appear in lists',
  },
  paging: {
    '1 lists': 'lists are consistent, in chunks when asked',
    '2.4 kind': 'kind of the items with List appended',
    '2.4 apiVersion': 'group and version',
    '2.4 resourceVersion': 'version of the collection',
    '2.4 continue': 'empty at the end',
    '2.4 remainingItemCount': 'estimate; absent with selectors and at the end',
    '2.4 items': 'the objects',
    '4.4.1': 'chunking is on',
    '4.4.2': 'at most limit items and continue if more remain',
    '4.4.3': 'continue until it is empty',
    '4.4.4': 'all chunks are one snapshot, from whose version a watch misses nothing',
    '4.4.5': 'an expired token gives 410',
    '8 tokens': 'tokens live as long as history',
    '8 paging': 'limit caps the items',
    '9.3 remaining': 'remainingItemCount is served',
  },
  representations: {
    '1 tables': 'the server renders tables',
    '1 encodings': 'JSON by default, or Protobuf',
    '2.6 kind': 'Table',
    '2.6 apiVersion': 'meta group, v1',
    '2.6 columnDefinitions': 'name and type at least',
    '2.6 rows': 'cells and objects',
    '2.6 default': 'Name and Created At',
    '2.7.1': 'four bytes first',
    '2.7.2': 'then an Unknown',
    '2.7.3': 'with a TypeMeta',
    '4.8 JSON': 'application/json',
    '4.8 Protobuf': 'the Protobuf media type',
    '4.8 Table': 'as=Table',
    '4.8.1': 'Content-Type and Accept are independent',
    '4.8.2': 'Content-Type in the answer, or 406',
    '4.8.3': 'fallbacks',
  },
  'resource-versions': {
    '4.6 opaque': 'versions can be passed back and compared for equality',
    '4.6 get unset': 'most recent',
    '4.6 get 0': 'any',
    '4.6 get other': 'not older than',
    '4.6 list unset, unpaged, unset': 'most recent',
    '4.6 list unset, unpaged, 0': 'any',
    '4.6 list unset, unpaged, other': 'not older than',
    '4.6 list unset, limit, unset': 'most recent',
    '4.6 list unset, limit, 0': 'any',
    '4.6 list unset, limit, other': 'exact',
    '4.6 list unset, continue, unset': 'continue token, exact',
    '4.6 list unset, continue, 0': 'continue token, exact',
    '4.6 list unset, continue, other': '400',
    '4.6 list Exact, unpaged, unset': 'invalid',
    '4.6 list Exact, unpaged, 0': 'invalid',
    '4.6 list Exact, unpaged, other': 'exact',
    '4.6 list Exact, limit, unset': 'invalid',
    '4.6 list Exact, limit, 0': 'invalid',
    '4.6 list Exact, limit, other': 'exact',
    '4.6 list NotOlderThan, unpaged, unset': 'invalid',
    '4.6 list NotOlderThan, unpaged, 0': 'any',
    '4.6 list NotOlderThan, unpaged, other': 'not older than',
    '4.6 list NotOlderThan, limit, unset': 'invalid',
    '4.6 list NotOlderThan, limit, 0': 'any',
    '4.6 list NotOlderThan, limit, other': 'not older than',
    '4.6.1': 'resourceVersionMatch needs resourceVersion',
    '4.6.2': 'resourceVersionMatch is honoured',
    '4.6.3': 'leaving both out reads the newest state',
    '4.6.4': 'NotOlderThan with limit may end in 410 and can be retried',
    '4.6.5': 'an exact list tells the version that was asked for',
    '4.6 unrecognized, get': '504 with Retry-After',
    '4.6 unrecognized, list': '504 with Retry-After',
    '4.6 unrecognized, watch': 'waits',
  },
  'watch-forms': {
    '4.5 websocket': 'watches over WebSocket',
    '4.5 http2': 'watches over HTTP/2',
    '4.5 protobuf': 'watches as Protobuf frames',
    '4.5 tables': 'watches as Tables',
    '4.5 old paths': 'the older paths of watches',
  },
  watches: {
    '1 watches': 'changes can be followed',
    '2.5 type': 'type of a change',
    '2.5 object': 'the object; of a bookmark only its version',
    '4.5.1': 'watch on a list path from a version',
    '4.5.2': '200, chunked, JSON documents, every change after that version',
    '4.5.3': 'resume from the last version seen',
    '4.5.4': '410 for forgotten versions; list again and go on',
    '4.6 watch unset': 'state and start at most recent',
    '4.6 watch 0': 'state and start at any',
    '4.6 watch other': 'start at exact',
    '6.1': 'whole objects in ADDED and MODIFIED',
    '6.2': 'BOOKMARK when asked for',
    '6.3': 'further types: DELETED and ERROR',
    '8 history': 'five minutes of changes',
  },
} as const satisfies Record<File, Readonly<Record<string, string>>>;

type Table = typeof table;
export type RuleId = { [F in File]: keyof Table[F] }[File] & string;

/** Each rule with its text and the file of its tests. */
export const rules: readonly { readonly id: string; readonly says: string; readonly file: string }[] = Object.entries(
  table,
).flatMap(([file, entries]) => Object.entries(entries).map(([id, says]) => ({ id, says, file })));

/** A test of these rules, which its name begins with. */
export function covers(
  t: Test,
  ids: readonly RuleId[],
  title: string,
  run: (t: Test) => Promise<void>,
): Promise<unknown> {
  return t.test(`[${ids.join('; ')}] ${title}`, run);
}
