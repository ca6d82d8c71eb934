/**
 * A fuzzer for authorization in the API server: random roles and bindings, and random requests of their accounts and of
 * nodes. Each response must be allowed by a simple reference implementation, and the server's access reviews must agree
 * with it.
 */

import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { askOf } from '#test/fuzz/access/addresses.js';
import { knownAttacks } from '#test/fuzz/access/attacks.js';
import { RawClient, type RawRequest } from '#test/fuzz/access/client.js';
import { Judge } from '#test/fuzz/access/judge.js';
import { type Account, Policy } from '#test/fuzz/access/policy.js';
import { Dice } from '#test/fuzz/access/random.js';
import { alteredRequest, straightRequest } from '#test/fuzz/access/requests.js';
import { giveRights, takeRights } from '#test/fuzz/access/rights.js';
import { dialect, namespaces, objectNames, table, World } from '#test/fuzz/access/world.js';

export interface AccessOptions {
  readonly seed: number;
  /** Called before each request. */
  readonly goOn: (requests: number) => boolean;
  readonly onRequest?: (requests: number) => void;
}

export interface AccessReport {
  readonly requests: number;
  /** Number of responses by status; without many successful ones the test means nothing. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly markersShown: number;
  readonly changes: number;
  readonly agentHits: number;
  readonly problems: readonly string[];
}

const requestsPerRound = 150;
const maxTries = 60;
/** Enough to diagnose a defect. */
const maxProblems = 20;

export async function fuzzAccess({ seed, goOn, onRequest }: AccessOptions): Promise<AccessReport> {
  const dice = new Dice(seededRandom(seed));
  const world = await World.start();
  const client = new RawClient(world);
  const statuses = new Map<number, number>();
  const report = { requests: 0, markersShown: 0, changes: 0, agentHits: 0 };
  const problems: string[] = [];
  try {
    problems.push(...(await tryAttacks(world, client)));
    for (let round = 0; goOn(report.requests) && problems.length < maxProblems; round += 1) {
      const accounts = await giveRights(world, dice, round);
      await world.settled();
      for (let i = 0; i < requestsPerRound && goOn(report.requests); i += 1) {
        const account = dice.one(accounts);
        if (dice.chance(0.1)) problems.push(...(await review(world, dice, account)));
        if (dice.chance(0.03)) problems.push(...(await reviewRules(world, account)));
        const request = randomRequest(world, dice, account, accounts);
        const { violations, shown, changed, hits, status } = await attempt(world, client, account, request);
        problems.push(...violations);
        report.requests += 1;
        report.markersShown += shown;
        report.changes += changed;
        report.agentHits += hits;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        onRequest?.(report.requests);
      }
      await takeRights(world);
    }
  } finally {
    client.close();
    await world.close();
  }
  return { ...report, statuses, problems };
}

async function tryAttacks(world: World, client: RawClient): Promise<string[]> {
  const problems: string[] = [];
  const attacks = await knownAttacks(world);
  await world.settled();
  for (const { account, requests } of attacks) {
    for (const request of requests) problems.push(...(await attempt(world, client, account, request)).violations);
  }
  return problems;
}

/** Usually a request that the account may make, altered half of the time. */
function randomRequest(world: World, dice: Dice, account: Account, accounts: readonly Account[]): RawRequest {
  const policy = new Policy(world.state, dialect);
  let request = straightRequest(dice, world.state, account, accounts);
  const tries = dice.chance(0.75) ? maxTries : 0;
  for (let i = 0; i < tries; i += 1) {
    const ask = askOf(table, request.method, request.target);
    if (ask !== undefined && policy.may(account, ask)) break;
    request = straightRequest(dice, world.state, account, accounts);
  }
  return dice.chance(0.4) ? alteredRequest(dice, request) : request;
}

async function attempt(world: World, client: RawClient, account: Account, request: RawRequest) {
  const judge = new Judge(world.state, account, request);
  world.hits.length = 0;
  const answer = await client.send(account, request);
  const changes = await world.changes();
  const outcome = { answer, changes, hits: [...world.hits] };
  const violations = judge
    .problems(outcome, world.markers)
    .map((why) => `${account.name} [${account.groups}] ${describe(request)}: ${why} (${answer.status})`);
  if (changes.length > 0) await world.undo(changes);
  const shown = [...world.markers.keys()].filter((marker) => answer.body.includes(marker)).length;
  return { violations, shown, changed: changes.length, hits: outcome.hits.length, status: answer.status };
}

function describe({ method, target, headers, body }: RawRequest): string {
  return `${method} ${target} ${JSON.stringify(headers)} ${body.slice(0, 500)}`;
}

/** Compares the server's access reviews with the reference. */
async function review(world: World, dice: Dice, account: Account): Promise<string[]> {
  const kind = dice.one(table);
  const subresource = dice.chance(0.3) && kind.subresources.length > 0 ? dice.one(kind.subresources) : '';
  const attributes = {
    verb: dice.one([
      'get',
      'list',
      'watch',
      'create',
      'update',
      'patch',
      'delete',
      'deletecollection',
      'escalate',
      'bind',
      '*',
    ]),
    group: kind.group,
    resource: kind.resource,
    subresource,
    namespace: kind.namespaced ? dice.one([...namespaces, '']) : '',
    name: dice.one([...objectNames, 'n1', 'expand', 'strong', '']),
  };
  const url = `/apis/${dialect.apiVersion('authorization', 'v1')}/subjectaccessreviews`;
  const spec = { user: account.name, groups: account.groups, resourceAttributes: attributes };
  const { json } = await world.ask('POST', url, { spec });
  const said = json?.status?.allowed === true;
  const may = new Policy(world.state, dialect).may(account, { ...attributes, collection: false });
  return said === may
    ? []
    : [`${account.name} [${account.groups}] may ${JSON.stringify(attributes)}: said ${said}, is ${may}`];
}

/** Compares the server's lists of rules with the actual rights. */
async function reviewRules(world: World, account: Account): Promise<string[]> {
  const url = `/apis/${dialect.apiVersion('authorization', 'v1')}/selfsubjectrulesreviews`;
  const { json } = await world.ask('POST', url, { spec: { namespace: 'tenant' } }, account);
  const { resourceRules = [], nonResourceRules = [] } = json?.status ?? {};
  const policy = new Policy(world.state, dialect);
  const said = texts([...resourceRules, ...nonResourceRules]);
  const are = texts(policy.rules(account, 'tenant'));
  return said === are ? [] : [`${account.name} [${account.groups}] has the rules ${are}, said are ${said}`];
}

function texts(rules: readonly PolicyRule[]): string {
  const text = ({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule) =>
    JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);
  return rules.map(text).sort().join(' ');
}
