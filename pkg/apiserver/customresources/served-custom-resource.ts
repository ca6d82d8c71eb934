/** A version of a custom resource as the server serves it. Parts that need memory are built on first use. */
import { columnDeclarations } from '#api/apiextensions/v1/customresource/columns.js';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '#api/apiextensions/v1/types.gen.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { OtherVersions } from '#apimachinery/apply/conversions.js';
import { LazyAbort } from '#apimachinery/cancellation.js';
import type { GroupKey } from '#apimachinery/dialect.js';
import type { Qualified } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration, SubresourceDeclaration } from '#apimachinery/schema/schema.js';
import type { KindInfo } from '#apimachinery/schema/scheme.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { renamingConversion, type StoredForms, versionsOfKind } from '#apiserver/customresources/conversion.js';
import type { CustomKind } from '#apiserver/customresources/custom-kind.js';
import { type ConversionWebhooks, WebhookConversion } from '#apiserver/customresources/webhook-conversion.js';
import { compareVersions } from '#apiserver/discovery/priorities.js';
import type { CustomResource } from '#apiserver/resources/resource-table.js';
import type { ServedConversion, StoredVersionOf } from '#apiserver/resources/served-conversion.js';
import type { DescribedResource } from '#apiserver/resources/served-resource.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const subresourceVerbs = ['get', 'patch', 'update'];

/** Shared error, because creating errors is expensive. */
const definitionChanged = new Error('the definition of the resource has changed');

export interface CustomResourceOptions {
  readonly definition: CustomResourceDefinition;
  readonly version: CustomResourceDefinitionVersion;
  readonly kind: CustomKind;
  readonly forms: StoredForms;
  readonly storage: ResourceStorage;
  readonly isTerminating: boolean;
  readonly edition: string;
  readonly webhooks: ConversionWebhooks;
}

export class ServedCustomResource implements CustomResource {
  readonly declaration: ResourceDeclaration;
  readonly group: string;
  readonly apiVersion: string;
  readonly qualified: Qualified;
  readonly storage: ResourceStorage;
  readonly listKind: string;
  readonly isTerminating: boolean;
  readonly edition: string;
  readonly deprecationWarning: string | undefined;
  readonly kindInfo: KindInfo;
  readonly stored: StoredVersionOf;
  readonly retired = new LazyAbort();
  readonly #kind: CustomKind;
  readonly #forms: StoredForms;
  readonly #webhooks: ConversionWebhooks;
  readonly #version: string;
  #conversion: ServedConversion | undefined;

  constructor({ definition, version, kind, forms, storage, isTerminating, edition, webhooks }: CustomResourceOptions) {
    this.#kind = kind;
    this.#forms = forms;
    this.#webhooks = webhooks;
    this.#version = version.name;
    // The closure must keep only the name: the version holds its whole schema.
    const { name } = version;
    this.declaration = declarationOf(definition, version, () => kind.definitionOf(name));
    this.group = kind.group;
    this.apiVersion = kind.apiVersion(version.name);
    this.qualified = { group: kind.group, resource: this.declaration.resource };
    this.storage = storage;
    this.listKind = kind.listKind;
    this.isTerminating = isTerminating;
    this.edition = edition;
    this.deprecationWarning = version.deprecated
      ? (version.deprecationWarning ?? deprecationWarning(definition, version.name))
      : undefined;
    this.kindInfo = new CustomKindInfo(kind, version.name);
    this.stored = new CustomStoredVersion(kind);
  }

  /** Retires the resource: the definition has changed, and another object replaces this one. */
  retire(): void {
    this.retired.abort(definitionChanged);
  }

  get type(): TypeInfo {
    return this.#kind.require(this.#version).type;
  }

  described(): DescribedResource {
    const { declaration, group, apiVersion, listKind } = this;
    return { declaration, group, apiVersion, listKind, type: this.#kind.require(this.#version, 'once').type };
  }

  get strategy(): Strategy {
    return this.#kind.require(this.#version).strategy;
  }

  get conversion(): ServedConversion {
    this.#conversion ??= this.#newConversion();
    return this.#conversion;
  }

  get otherVersions(): OtherVersions | undefined {
    return versionsOfKind(this.#kind, this.conversion.kind === 'in process');
  }

  #newConversion(): ServedConversion {
    const webhook = this.#kind.conversionWebhook;
    const { apiVersion } = this;
    if (webhook === undefined) return renamingConversion(this.#kind, this.#forms, apiVersion);
    return new WebhookConversion({ ...this.#webhooks, webhook, kind: this.#kind, forms: this.#forms, apiVersion });
  }
}

/** Holds only the names, which are enough for discovery; the rest is built when objects are requested. */
class CustomStoredVersion implements StoredVersionOf {
  readonly apiVersion: string;
  readonly kind: string;
  readonly #kind: CustomKind;

  constructor(kind: CustomKind) {
    this.#kind = kind;
    this.apiVersion = kind.apiVersion(kind.storageVersion);
    this.kind = kind.kind;
  }

  get type(): TypeInfo {
    return this.#kind.require(this.#kind.storageVersion).type;
  }

  get strategy(): Strategy {
    return this.#kind.require(this.#kind.storageVersion).strategy;
  }
}

/** The warning names the best later version that is served and not deprecated itself. */
function deprecationWarning({ spec }: CustomResourceDefinition, version: string): string {
  const { group, names, versions } = spec;
  const text = `${group}/${version} ${names.kind} is deprecated`;
  const [successor] = versions
    .filter(({ name, served, deprecated }) => served && deprecated !== true && compareVersions(name, version) < 0)
    .map(({ name }) => name)
    .sort(compareVersions);
  return successor === undefined ? text : `${text}; use ${group}/${successor} ${names.kind}`;
}

class CustomKindInfo implements KindInfo {
  readonly group: GroupKey;
  readonly groupName: string;
  readonly version: string;
  readonly kind: string;
  readonly apiVersion: string;
  readonly #kind: CustomKind;

  constructor(kind: CustomKind, version: string) {
    this.#kind = kind;
    this.group = kind.group as GroupKey;
    this.groupName = kind.group;
    this.version = version;
    this.kind = kind.kind;
    this.apiVersion = kind.apiVersion(version);
  }

  get type(): TypeInfo {
    return this.#kind.require(this.version).type;
  }
}

/** `latest`: reads the version when the columns are needed. */
function declarationOf(
  { spec, status }: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  latest: () => CustomResourceDefinitionVersion | undefined,
): ResourceDeclaration {
  const names = status?.acceptedNames ?? spec.names;
  const { shortNames = [], categories = [] } = names;
  const subresources = subresourcesOf(version, names.kind);
  return {
    // The key of a custom group is its name.
    group: spec.group as GroupKey,
    version: version.name,
    resource: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    kind: names.kind,
    namespaced: spec.scope === 'Namespaced',
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
    get columns() {
      return columnDeclarations(latest()?.additionalPrinterColumns);
    },
  };
}

function subresourcesOf({ subresources }: CustomResourceDefinitionVersion, kind: string): SubresourceDeclaration[] {
  const declarations: SubresourceDeclaration[] = [];
  if (subresources?.status !== undefined) declarations.push({ name: 'status', kind, verbs: subresourceVerbs });
  if (subresources?.scale !== undefined) {
    declarations.push({ name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: subresourceVerbs });
  }
  return declarations;
}
