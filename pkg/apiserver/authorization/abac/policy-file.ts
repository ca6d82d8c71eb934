/**
 * The file of `--authorization-policy-file`: one policy per line, of the group `abac.authorization.…` in version v1beta1 or v0, or
 * without a version, which means v0. Blank lines and lines that begin with `#` are left out. Pure.
 */

import { typeMetaFault } from '#apimachinery/codec/json/json.js';
import { jsonSyntaxError } from '#apimachinery/codec/json/syntax-error.js';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { jsonName } from '#apimachinery/errors/go-value.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { AbacPolicy } from '#apiserver/authorization/abac/policy.js';

export interface PolicyFile {
  readonly policies: readonly AbacPolicy[];
  /** Whether some lines name no version, which deserves a warning. */
  readonly unversioned: boolean;
}

/** Longer lines end the start, as in 1.24. */
const maxLineBytes = 64 * 1024 - 1;

/** A line that is not a policy. The message is 1.24's. */
class PolicyError extends Error {}

/** `path`: for messages. Throws Error that names file and line, with 1.24's message. */
export function parsePolicyFile(text: string, path: string, dialect: Dialect): PolicyFile {
  const policies: AbacPolicy[] = [];
  let unversioned = false;
  for (const [i, ended] of text.split('\n').entries()) {
    const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended;
    if (Buffer.byteLength(ended) > maxLineBytes) {
      throw new Error(`error reading policy file ${path}: bufio.Scanner: token too long`);
    }
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    try {
      const decoded = policyOf(line, dialect);
      policies.push(decoded.policy);
      unversioned ||= decoded.unversioned;
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      throw new Error(`error reading policy file ${path}, line ${i + 1}: ${line}: ${error.message}`);
    }
  }
  return { policies, unversioned };
}

type Fields = Readonly<Record<string, unknown>>;

function policyOf(line: string, dialect: Dialect): { readonly policy: AbacPolicy; readonly unversioned: boolean } {
  const value = decodedLine(line);
  const fault = typeMetaFault(value);
  if (fault !== undefined) throw new PolicyError(fault);
  const fields = (value ?? {}) as Fields;
  const version = (fields['apiVersion'] ?? '') as string;
  const kind = (fields['kind'] ?? '') as string;
  if (version.split('/').length > 2) throw new PolicyError(`unexpected GroupVersion string: ${version}`);
  const group = `abac.authorization.${dialect.labelDomain}`;
  const unversioned = version === '' || kind === '';
  const actual = { version: version || `${group}/v0`, kind: kind || 'Policy' };
  const isFirst = actual.version === `${group}/v0`;
  if (actual.kind !== 'Policy' || (!isFirst && actual.version !== `${group}/v1beta1`)) {
    const [shownKind, shownVersion] = [actual.kind, actual.version].map((text) => JSON.stringify(text));
    throw new PolicyError(
      `no kind ${shownKind} is registered for version ${shownVersion} in scheme "pkg/runtime/scheme.go:100"`,
    );
  }
  const policy = isFirst ? firstPolicy(fields) : betaPolicy(fields, dialect);
  if (unversioned && !isFirst) throw new PolicyError('converting (v1beta1.Policy) to (v0.Policy): unknown conversion');
  return { policy: isFirst ? widened(policy, dialect) : policy, unversioned };
}

/** JSON if it begins like an object, otherwise YAML, as 1.24's decoder recognizes it. */
function decodedLine(line: string): unknown {
  if (!line.trimStart().startsWith('{')) {
    try {
      return parseYAML(line) as unknown;
    } catch (error) {
      throw new PolicyError(messageOf(error));
    }
  }
  try {
    return JSON.parse(line) as unknown;
  } catch (error) {
    const why = jsonSyntaxError(Buffer.from(line)) ?? messageOf(error);
    throw new PolicyError(`couldn't get version/kind; json parse error: ${why}`);
  }
}

const unset = { apiGroup: '', nonResourcePath: '' };

function firstPolicy(fields: Fields): AbacPolicy {
  const at = (name: string) => textAt(fields, name, 'Policy');
  const readonly = flagAt(fields, 'readonly', 'Policy');
  return {
    ...unset,
    user: at('user'),
    group: at('group'),
    readonly,
    resource: at('resource'),
    namespace: at('namespace'),
  };
}

/** What v0 leaves open matches everything. */
function widened(policy: AbacPolicy, dialect: Dialect): AbacPolicy {
  const { user, group, namespace, resource } = policy;
  const isForAll = (user === '' && group === '') || user === '*' || group === '*';
  return {
    ...policy,
    ...(isForAll ? { user: '', group: dialect.groups.authenticated } : {}),
    namespace: namespace || '*',
    resource: resource || '*',
    apiGroup: '*',
    nonResourcePath: namespace === '' && resource === '' ? '*' : '',
  };
}

function betaPolicy(fields: Fields, dialect: Dialect): AbacPolicy {
  const spec = fields['spec'] ?? {};
  if (typeof spec !== 'object' || Array.isArray(spec)) throw wrongType(spec, 'Policy.spec', 'v1beta1.PolicySpec');
  const own = spec as Fields;
  const at = (name: string) => textAt(own, name, 'PolicySpec.spec');
  const policy: AbacPolicy = {
    user: at('user'),
    group: at('group'),
    readonly: flagAt(own, 'readonly', 'PolicySpec.spec'),
    apiGroup: at('apiGroup'),
    resource: at('resource'),
    namespace: at('namespace'),
    nonResourcePath: at('nonResourcePath'),
  };
  // `*` stands for all authenticated users, not for anonymous ones.
  if (policy.user !== '*' && policy.group !== '*') return policy;
  return { ...policy, user: '', group: dialect.groups.authenticated };
}

function textAt(fields: Fields, name: string, path: string): string {
  const value = fields[name] ?? '';
  if (typeof value !== 'string') throw wrongType(value, `${path}.${name}`, 'string');
  return value;
}

function flagAt(fields: Fields, name: string, path: string): boolean {
  const value = fields[name] ?? false;
  if (typeof value !== 'boolean') throw wrongType(value, `${path}.${name}`, 'bool');
  return value;
}

function wrongType(value: unknown, field: string, type: string): PolicyError {
  return new PolicyError(`json: cannot unmarshal ${jsonName(value)} into Go struct field ${field} of type ${type}`);
}
