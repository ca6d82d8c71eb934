/** The pipeline that every request passes before it reaches an endpoint. */
import type { Auditor } from '#apiserver/audit/auditor.js';
import type { Authenticator } from '#apiserver/authentication/authenticator.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import { parseAhead, smallBodyBytes } from '#apiserver/bodies/parse-ahead.js';
import type { YamlReader } from '#apiserver/bodies/yaml-reader.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { RequestMetrics } from '#apiserver/http/request-metrics.js';
import { Pipeline, type PipelineOptions } from '#apiserver/pipeline/pipeline.js';
import type { Responder } from '#apiserver/representation/respond.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import { isVisibleRequest, type Visibility } from '#apiserver/visibility/visibility.js';

/** Authentication, authorization and auditing of requests. */
export interface RequestAccess {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Absent: nothing is recorded. */
  readonly audit?: ((codec: Codec) => Auditor) | undefined;
  /** Absent: lists over all namespaces are for those who may list all. */
  readonly visibility?: Visibility | undefined;
}

export interface PipelineSetup extends Required<Pick<PipelineOptions, 'flow' | 'passesOn' | 'requestTimeoutMs'>> {
  readonly resources: ResourceTable;
  readonly access: RequestAccess;
  readonly auditor: Auditor | undefined;
  readonly metrics: RequestMetrics;
  readonly responder: Responder;
  readonly yaml: YamlReader;
}

export function buildPipeline(
  environment: ServerEnvironment,
  { access, yaml, resources, ...setup }: PipelineSetup,
): Pipeline {
  const { dialect, clock, turns, log, newUID, tracer } = environment;
  const { authenticator, authorizer, visibility } = access;
  return new Pipeline({
    ...setup,
    dialect,
    clock,
    log,
    newUID,
    authenticator,
    authorizer,
    tracer,
    visibleTo: visibility && visibleTo(visibility, { ...setup, resources }),
    parseAhead: {
      aboveBytes: smallBodyBytes,
      parse: (request, user) => parseAhead(request, user, { dialect, turns, yaml }),
    },
  });
}

/** Only this server's own resources: an extension server would answer with all objects. */
function visibleTo(
  visibility: Visibility,
  { resources, passesOn }: Pick<PipelineSetup, 'resources' | 'passesOn'>,
): PipelineOptions['visibleTo'] {
  return (context: RequestContext) => {
    const { info, user } = context;
    if (!isVisibleRequest(info) || passesOn(context)) return undefined;
    const resource = resources.find(info.group, info.version, info.resource);
    return resource && visibility.of(info, user, resource);
  };
}
