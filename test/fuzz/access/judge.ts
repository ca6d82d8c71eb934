/** Checks a response: the account must have had the right to each marker, change, session and token. */
import type { Ask, ResourceAsk } from '#test/fuzz/access/addresses.js';
import { askOf } from '#test/fuzz/access/addresses.js';
import type { RawAnswer, RawRequest } from '#test/fuzz/access/client.js';
import { nodeChange, nodeName } from '#test/fuzz/access/nodes.js';
import { type Account, Policy } from '#test/fuzz/access/policy.js';
import type { State, Stored } from '#test/fuzz/access/state.js';
import { type AgentHit, type Change, dialect, table } from '#test/fuzz/access/world.js';

/** The observed effects of a request. */
export interface Outcome {
  readonly answer: RawAnswer;
  readonly changes: readonly Change[];
  readonly hits: readonly AgentHit[];
}

const everything = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];
const writes = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** Decides by the state before the request. */
export class Judge {
  readonly allowed: boolean;
  readonly #before: State;
  readonly #policy: Policy;
  readonly #request: RawRequest;
  readonly #ask: Ask | undefined;
  readonly #account: Account | undefined;

  constructor(state: State, account: Account, request: RawRequest) {
    this.#before = new Map(state);
    this.#policy = new Policy(this.#before, dialect);
    this.#request = request;
    this.#ask = askOf(table, request.method, request.target);
    this.#account = this.#effective(account);
    this.allowed = this.#ask !== undefined && this.#account !== undefined && this.#policy.may(this.#account, this.#ask);
  }

  /** The violations; empty if there are none. */
  problems({ answer, changes, hits }: Outcome, markers: ReadonlyMap<string, string>): string[] {
    const problems: string[] = [];
    if (answer.status < 400 && !this.allowed) problems.push(`status ${answer.status} without the right`);
    for (const [marker, key] of markers) {
      if (answer.body.includes(marker) && !(this.allowed && this.#concerns(key))) problems.push(`is shown ${key}`);
    }
    for (const change of changes) {
      const why = this.#changeProblem(change);
      if (why !== undefined) problems.push(`changes ${change.key}: ${why}`);
    }
    for (const hit of hits) if (!this.#mayReach(hit)) problems.push(`reaches ${hit.node}${hit.path}`);
    if (answer.status === 201 && /"token": ?"ey/.test(answer.body) && !this.#mayHaveToken())
      problems.push('gets a token');
    return problems;
  }

  /** The effective account of the request; undefined if it may not impersonate it. */
  #effective(account: Account): Account | undefined {
    const { headers } = this.#request;
    const name = headers['impersonate-user'];
    const group = headers['impersonate-group'];
    if (name === undefined) return account;
    const may = (resource: string, name: string, namespace = '') =>
      this.#policy.mayResource(account, 'impersonate', '', resource, { name, namespace });
    const parts = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
    const asUser = parts === null ? may('users', name) : may('serviceaccounts', parts[2] ?? '', parts[1] ?? '');
    if (!asUser || (group !== undefined && !may('groups', group))) return undefined;
    const { serviceAccounts, authenticated } = dialect.groups;
    const ofAccount = parts === null ? [] : [serviceAccounts, `${serviceAccounts}:${parts[1]}`];
    return { name, groups: [...(group === undefined ? ofAccount : [group]), authenticated] };
  }

  #concerns(key: string): boolean {
    const ask = this.#ask;
    if (ask === undefined || 'path' in ask) return false;
    const [resource, ...rest] = key.split('/');
    const name = rest.at(-1);
    const namespace = rest.length > 1 ? rest[0] : '';
    if (resource !== ask.resource || (ask.name !== '' && ask.name !== name)) return false;
    if (!ask.collection && ask.name === '') return false;
    // The path of a namespace contains its name twice.
    return ask.namespace === '' || resource === 'namespaces' || ask.namespace === namespace;
  }

  #changeProblem(change: Change): string | undefined {
    const ask = this.#ask;
    const account = this.#account;
    if (!this.allowed || account === undefined || ask === undefined || 'path' in ask) return 'without the right';
    if (!writes.has(ask.verb)) return `by ${ask.verb}`;
    if (/[?&]dryRun=All/.test(this.#request.target)) return 'in a dry run';
    if (!this.#concerns(change.key)) return 'which it did not ask for';
    const { before, after } = change;
    if (ask.verb === 'create' && ask.subresource === '' && before !== undefined) return 'which was there';
    const madeByWriting = before === undefined && ask.verb !== 'create';
    if (madeByWriting && !this.#policy.may(account, { ...ask, verb: 'create' })) return 'which was not there';
    const node = nodeName(account, dialect);
    const ofNode = node === undefined ? undefined : nodeChange(this.#before, dialect, node, change);
    if (ofNode !== undefined) return ofNode;
    if (after === undefined) return undefined;
    if (ask.resource === 'certificatesigningrequests') return this.#signerProblem(account, ask, change);
    return ask.group === dialect.groupName('rbac') ? this.#escalation(account, ask, change) : undefined;
  }

  #escalation(account: Account, ask: ResourceAsk, { before, after = {} }: Change): string | undefined {
    if (before !== undefined && onlyForCollection(before, after)) return undefined;
    const { group, namespace } = ask;
    const may = (verb: string, resource: string, name: string) =>
      this.#policy.mayResource(account, verb, group, resource, { namespace, name });
    if (ask.resource.endsWith('bindings')) {
      const { roleRef } = after as { roleRef: { kind: string; name: string } };
      if (may('bind', roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles', roleRef.name)) return undefined;
      const rules = this.#policy.rulesOf(roleRef, namespace);
      return this.#policy.holds(account, rules, namespace) ? undefined : 'which gives what it does not have';
    }
    if (may('escalate', ask.resource, before === undefined ? '' : String(after['metadata'].name))) return undefined;
    const gathers = before?.['aggregationRule'] !== undefined || after['aggregationRule'] !== undefined;
    const rules = [...(after['rules'] ?? []), ...(gathers ? everything : [])];
    return this.#policy.holds(account, rules, namespace) ? undefined : 'which gives what it does not have';
  }

  #signerProblem(account: Account, { group }: ResourceAsk, { before, after = {} }: Change): string | undefined {
    if (before === undefined) return undefined;
    const signer = String(before['spec'].signerName);
    const may = (verb: string) =>
      [signer, `${signer.split('/')[0]}/*`].some((name) =>
        this.#policy.mayResource(account, verb, group, 'signers', { name }),
      );
    const conditions = (of: Stored, types: string[]) =>
      (of['status']?.conditions ?? []).filter((each: { type: string }) => types.includes(each.type)).length;
    const differ = (types: string[]) => conditions(before, types) !== conditions(after, types);
    if (differ(['Approved', 'Denied']) && !may('approve')) return 'a decision that is not its own';
    const signed = before['status']?.certificate !== after['status']?.certificate || differ(['Failed']);
    return signed && !may('sign') ? 'a signature that is not its own' : undefined;
  }

  #mayReach({ node, path }: AgentHit): boolean {
    const ask = this.#ask;
    if (!this.allowed || ask === undefined || 'path' in ask) return false;
    const { resource, subresource, namespace, name } = ask;
    if (resource === 'nodes' && subresource === 'proxy') return name === node;
    const paths: Readonly<Record<string, string>> = {
      log: 'containerLogs',
      exec: 'exec',
      attach: 'attach',
      portforward: 'portForward',
    };
    const of = paths[subresource];
    if (resource !== 'pods' || of === undefined) return false;
    const bound = this.#before.get(`pods/${namespace}/${name}`)?.['spec'].nodeName;
    return bound === node && new RegExp(`^/${of}/${namespace}/${name}(/|\\?|$)`).test(path);
  }

  /** Nodes get tokens of their pods' accounts, bound to the pods; other accounts need the right alone. */
  #mayHaveToken(): boolean {
    const ask = this.#ask;
    const account = this.#account;
    if (!this.allowed || account === undefined || ask === undefined || 'path' in ask || ask.subresource !== 'token')
      return false;
    const node = nodeName(account, dialect);
    if (node === undefined) return true;
    const reference = (JSON.parse(this.#request.body) as Stored)['spec']?.boundObjectRef;
    const pod = this.#before.get(`pods/${ask.namespace}/${reference?.name}`);
    return reference?.uid === pod?.['metadata'].uid && pod?.['spec'].nodeName === node;
  }
}

function onlyForCollection(before: Stored, after: Stored): boolean {
  const rest = ({ metadata, ...others }: Stored) => {
    const { finalizers: _f, ownerReferences: _o, managedFields: _m, resourceVersion: _r, ...kept } = metadata;
    const { deletionTimestamp: _d, deletionGracePeriodSeconds: _g, ...named } = kept;
    return JSON.stringify([Object.entries(others).sort(), Object.entries(named).sort()]);
  };
  return rest(before) === rest(after);
}
