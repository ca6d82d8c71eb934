/** The authorizers of `--authorization-mode`. */
import { readFile } from 'node:fs/promises';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import {
  AlwaysAllowAuthorizer,
  AlwaysDenyAuthorizer,
  PrivilegedGroupAuthorizer,
  QuestionAuthorizer,
  UnionAuthorizer,
  WaitingAuthorizer,
} from '#apiserver/authorization/authorize.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import { ReviewExplainer } from '#apiserver/authorization/explain/review-explainer.js';
import { NodeAuthorizer } from '#apiserver/authorization/node/node-authorizer.js';
import { NodeGraph } from '#apiserver/authorization/node/node-graph.js';
import { RbacAuthorizer } from '#apiserver/authorization/rbac/rbac-authorizer.js';
import { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import {
  alwaysAllowRules,
  alwaysDenyRules,
  type RuleResolver,
  UnionResolver,
} from '#apiserver/authorization/rule-resolver.js';
import { nodeRules } from '#apiserver/bootstrap/cluster-roles.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import { openBackend, reviewVersion } from '#apiserver/build/webhook-backend.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { OptionsError } from '#daemon/options/option.js';

export interface AuthorizationParts {
  readonly authorizer: Authorizer;
  /** Decides at once and by `rbac` alone, about everything but nodes; undefined with a webhook. */
  readonly prompt: Authorizer | undefined;
  /** The rules of all modes. */
  readonly rules: RuleResolver;
  /** Present in the RBAC mode. */
  readonly explainer: ReviewExplainer | undefined;
  /** Present in the RBAC mode. */
  readonly rbac: { readonly index: RbacIndex; readonly authorizer: RbacAuthorizer } | undefined;
  /** Starts the authorizers' caches; resolves when they are filled. */
  start(signal: AbortSignal): Promise<void>;
  /** Ends the calls of webhooks. */
  close(): void;
}

type Environment = Pick<ServerEnvironment, 'clock' | 'dialect' | 'log' | 'random'>;

/** The part of one mode. */
interface Mode {
  readonly authorizer: Authorizer;
  readonly rules: RuleResolver;
  readonly rbac?: AuthorizationParts['rbac'];
  readonly start?: (signal: AbortSignal) => Promise<void>;
  readonly close?: () => void;
}

/** The authorizers decide in the order of `--authorization-mode`. Throws OptionsError. */
export async function buildAuthorization(
  values: ApiServerValues,
  environment: Environment,
  reader: ObjectReader,
): Promise<AuthorizationParts> {
  const { dialect, clock } = environment;
  const modes: Mode[] = [];
  for (const name of values['authorization-mode']) modes.push(await modeOf(name, values, environment, reader));
  // As in 1.24, the server's own client is in this group.
  const privileged = new PrivilegedGroupAuthorizer([dialect.groups.masters]);
  const questions = new QuestionAuthorizer(dialect);
  const union = new UnionAuthorizer([privileged, questions, ...modes.map((mode) => mode.authorizer)]);
  const authorizer = new WaitingAuthorizer({ authorizer: union, clock });
  const withoutNodes = modes.map((mode) => mode.authorizer).filter(({ mode }) => mode !== 'Node');
  const rbac = modes.find((mode) => mode.rbac !== undefined)?.rbac;
  return {
    explainer: rbac && new ReviewExplainer({ dialect, authorizer, index: rbac.index }),
    authorizer,
    prompt: values['authorization-mode'].includes('Webhook')
      ? undefined
      : new UnionAuthorizer([privileged, ...withoutNodes]),
    rules: new UnionResolver(modes.map((mode) => mode.rules)),
    rbac,
    start: async (signal) => {
      await Promise.all(modes.map((mode) => mode.start?.(signal)));
      authorizer.ready();
    },
    close: () => {
      for (const mode of modes) mode.close?.();
    },
  };
}

async function modeOf(
  name: string,
  values: ApiServerValues,
  environment: Environment,
  reader: ObjectReader,
): Promise<Mode> {
  const { dialect } = environment;
  switch (name) {
    case 'AlwaysAllow':
      return { authorizer: new AlwaysAllowAuthorizer(), rules: alwaysAllowRules };
    case 'AlwaysDeny':
      return { authorizer: new AlwaysDenyAuthorizer(), rules: alwaysDenyRules };
    case 'Node':
      return nodeMode(dialect, reader);
    case 'RBAC':
      return rbacMode(dialect, reader);
    case 'ABAC':
      return abacMode(values, environment);
    case 'Webhook':
      return webhookMode(values, environment);
    default:
      throw new OptionsError([`unknown authorization mode ${name} specified`]);
  }
}

function nodeMode(dialect: Dialect, reader: ObjectReader): Mode {
  const graph = new NodeGraph(dialect);
  const authorizer = new NodeAuthorizer({ dialect, graph, rules: nodeRules(dialect) });
  return {
    authorizer,
    rules: authorizer,
    start: (signal) => graph.start(reader, signal),
  };
}

function rbacMode(dialect: Dialect, reader: ObjectReader): Mode {
  const index = new RbacIndex();
  const authorizer = new RbacAuthorizer(index, dialect);
  return {
    authorizer,
    rules: authorizer,
    rbac: { index, authorizer },
    start: (signal) => index.start(reader, signal),
  };
}

/** What 1.24 says before the reason. */
const words = 'invalid authorization config: ';

/** The file is read once, as in 1.24. */
async function abacMode(values: ApiServerValues, { dialect, log }: Environment): Promise<Mode> {
  const path = values['authorization-policy-file'] ?? '';
  const text = await policyText(path);
  const [{ parsePolicyFile }, { AbacAuthorizer }] = await Promise.all([
    import('#apiserver/authorization/abac/policy-file.js'),
    import('#apiserver/authorization/abac/policy.js'),
  ]);
  try {
    const { policies, unversioned } = parsePolicyFile(text, path, dialect);
    if (unversioned)
      log.warn({ file: path }, 'the policy file has lines without a version, which match more than they name');
    const authorizer = new AbacAuthorizer(policies);
    return { authorizer, rules: authorizer };
  } catch (error) {
    throw new OptionsError([`${words}${messageOf(error)}`]);
  }
}

async function policyText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new OptionsError([`${words}${isMissing ? `open ${path}: no such file or directory` : messageOf(error)}`]);
  }
}

/** Limit of concurrent calls: as many requests as this can wait for decisions. */
const maxReviewCalls = 1024;

async function webhookMode(values: ApiServerValues, environment: Environment): Promise<Mode> {
  const option = 'authorization-webhook-config-file';
  const limits = { totalMs: values['request-timeout'], maxCalls: maxReviewCalls };
  const backend = await openBackend({ name: option, words }, values[option], environment, limits);
  if (backend === undefined)
    throw new OptionsError([`authorization-mode Webhook's authorization config file not passed`]);
  const { WebhookAuthorizer } = await import('#apiserver/authorization/webhook/webhook-authorizer.js');
  const authorizer = new WebhookAuthorizer({
    ...environment,
    backend,
    version: reviewVersion('webhook authorizer', values['authorization-webhook-version']),
    allowedTtlMs: values['authorization-webhook-cache-authorized-ttl'],
    refusedTtlMs: values['authorization-webhook-cache-unauthorized-ttl'],
  });
  return { authorizer, rules: authorizer, close: () => void backend.close() };
}
