import { atomic, bareKind, defineTypes, message, optional, pointer, required, shaped } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    APIGroup: bareKind('A group of the API and its versions.', {
      name: required(1, 'string', 'Name of the group; empty for the core group.'),
      versions: required(2, 'GroupVersionForDiscovery[]', 'Versions that are served.'),
      preferredVersion: optional(3, 'GroupVersionForDiscovery', 'Version that clients should use.'),
      serverAddressByClientCIDRs: optional(4, 'ServerAddressByClientCIDR[]', 'Addresses of the server by where the client is.'),
    }),
    APIGroupList: bareKind('The groups of the API.', {
      groups: required(1, 'APIGroup[]', 'The groups.'),
    }),
    APIResource: message('A resource that the API serves.', {
      name: required(1, 'string', 'Plural name, as in URLs.'),
      singularName: required(6, 'string', 'Singular name, as people write it. Empty: derived from the kind.'),
      namespaced: required(2, 'bool', 'Whether its objects live in namespaces.'),
      group: optional(8, 'string', 'Group of its kind. Default: that of the list.'),
      version: optional(9, 'string', 'Version of its kind. Default: that of the list.'),
      kind: required(3, 'string', 'Kind of its objects.'),
      verbs: required(4, 'Verbs', 'What can be done with it, such as `get`, `list` or `watch`.'),
      shortNames: optional(5, 'string[]', 'Shorter names for it, as people write them.'),
      categories: optional(7, 'string[]', 'Groups of resources that it belongs to, such as `all`.'),
      storageVersionHash: optional(10, 'string', 'Changes when the version in which objects are stored does. For comparison only.'),
    }),
    APIResourceList: bareKind('The resources of one version of a group.', {
      groupVersion: required(1, 'string', 'Group and version, as `group/version`.'),
      resources: required(2, 'APIResource[]', 'The resources.'),
    }),
    APIVersions: bareKind('The versions of the core group.', {
      versions: required(1, 'string[]', 'The versions.'),
      serverAddressByClientCIDRs: required(2, 'ServerAddressByClientCIDR[]', 'Addresses of the server by where the client is.'),
    }),
    ApplyOptions: bareKind('Options of applying a configuration.', {
      dryRun: optional(1, 'string[]', '`All` goes through every step except storing.'),
      force: required(2, 'bool', 'Takes over fields that others manage. Default false: a conflict.'),
      fieldManager: required(3, 'string', 'Name of the manager that applies. Required.'),
    }),
    Condition: message("One aspect of an object's state.", {
      type: required(1, 'string', 'Aspect that the condition describes.'),
      status: required(2, 'string', { enum: 'ConditionStatus' }, 'Whether the condition holds: `True`, `False` or `Unknown`.'),
      observedGeneration: optional(3, 'int64', { minimum: 0 }, 'Generation of the spec that the condition describes.'),
      lastTransitionTime: required(4, 'Time', 'When the status last changed.'),
      reason: required(5, 'string', 'One CamelCase word on why the status last changed, for programs.'),
      message: required(6, 'string', 'Details of the last change of the status, for people.'),
    }),
    CreateOptions: bareKind('Options of creating an object.', {
      dryRun: optional(1, 'string[]', '`All` goes through every step except storing.'),
      fieldManager: optional(3, 'string', 'Name of who creates, for the record of managed fields. At most 128 printable characters. Default: from the user agent.'),
      fieldValidation: optional(4, 'string', 'What to do about unknown and duplicate fields: `Ignore`, `Warn` or `Strict`. Default `Warn`.'),
    }),
    DeleteOptions: bareKind('Options of deleting an object.', {
      gracePeriodSeconds: pointer(1, 'int64', 'Seconds that the object gets to end by itself. 0 deletes at once. Default: as the kind and the object say.'),
      preconditions: pointer(2, 'Preconditions', 'What must hold of the object, otherwise the request fails with a conflict.'),
      orphanDependents: pointer(3, 'bool', 'Deprecated; use `propagationPolicy`. Leaves the dependents alone when true.'),
      propagationPolicy: pointer(4, 'string', { enum: 'DeletionPropagation' }, 'What happens to dependents: `Orphan` leaves them, `Background` deletes them afterwards, `Foreground` deletes them first. Default: as the kind says.'),
      dryRun: optional(5, 'string[]', '`All` goes through every step except storing.'),
    }),
    Duration: shaped('duration', 'A length of time, such as `1h30m`.', {
      '~duration': required(1, 'int64'),
    }),
    FieldsV1: shaped(
      'rawJSON',
      'A set of fields as a tree: `f:<name>` is a field, `k:<keys>` an entry of a list by its keys, `v:<value>` by its value, `i:<index>` by its place, `.` the node itself.',
      {
        '~Raw': required(1, 'bytes'),
      },
      'Readonly<Record<string, unknown>>',
    ),
    GetOptions: bareKind('Options of reading an object.', {
      resourceVersion: optional(1, 'string', 'How fresh the answer must be. Unset: the latest. `0`: anything the server has at hand. Otherwise: not older than this.'),
    }),
    GroupKind: message('A kind in any version.', {
      group: required(1, 'string', 'Group of the kind.'),
      kind: required(2, 'string', 'Name of the kind.'),
    }),
    GroupResource: message('A resource in any version.', {
      group: required(1, 'string', 'Group of the resource.'),
      resource: required(2, 'string', 'Plural name of the resource.'),
    }),
    GroupVersion: message('A version of a group.', {
      group: required(1, 'string', 'Name of the group.'),
      version: required(2, 'string', 'Name of the version.'),
    }),
    GroupVersionForDiscovery: message('A version of a group, as discovery shows it.', {
      groupVersion: required(1, 'string', 'Group and version, as `group/version`.'),
      version: required(2, 'string', 'The version alone.'),
    }),
    GroupVersionKind: message('A kind in a version of a group.', {
      group: required(1, 'string', 'Group of the kind.'),
      version: required(2, 'string', 'Version of the kind.'),
      kind: required(3, 'string', 'Name of the kind.'),
    }),
    GroupVersionResource: message('A resource in a version of a group.', {
      group: required(1, 'string', 'Group of the resource.'),
      version: required(2, 'string', 'Version of the resource.'),
      resource: required(3, 'string', 'Plural name of the resource.'),
    }),
    LabelSelector: atomic('A choice of objects by their labels. All parts must match. An empty selector matches all objects, an unset one none.', {
      matchLabels: optional(1, 'map<string, string>', 'Labels and values that an object must have.'),
      matchExpressions: optional(2, 'LabelSelectorRequirement[]', 'Further conditions on labels.'),
    }),
    LabelSelectorRequirement: message('A condition on one label.', {
      key: required(1, 'string', { patchMergeKey: 'key' }, 'Label to look at.'),
      operator: required(2, 'string', { enum: 'LabelSelectorOperator' }, '`In`, `NotIn`, `Exists` or `DoesNotExist`.'),
      values: optional(3, 'string[]', 'Values to compare with: at least one for `In` and `NotIn`, otherwise none.'),
    }),
    List: bareKind('A list of objects of any kinds.', {
      metadata: optional(1, 'ListMeta', 'Standard list metadata: its resource version, and where to continue when it comes in chunks.'),
      items: required(2, 'runtime.RawExtension[]', 'The objects of the list.'),
    }),
    ListMeta: message('Data about a list.', {
      selfLink: optional(1, 'string', 'No longer used; always empty.'),
      resourceVersion: optional(2, 'string', 'Version of the list, to watch from or to compare for equality. Opaque.'),
      continue: optional(3, 'string', 'Set when there is more: token for the next chunk, with the same query. Expires after some minutes.'),
      remainingItemCount: pointer(4, 'int64', 'How many objects follow this chunk. Unset when unknown, as with selectors.'),
    }),
    ListOptions: bareKind('Options of listing and watching objects.', {
      labelSelector: optional(1, 'string', 'Restricts the list of returned objects to those whose labels match, such as `app=web,tier!=db`. Default: all.'),
      fieldSelector: optional(2, 'string', 'Restricts the list of returned objects to those whose fields match, such as `metadata.name=web`. Default: all.'),
      watch: optional(3, 'bool', 'Watch for changes to the described resources instead of listing them. Default false.'),
      allowWatchBookmarks: optional(9, 'bool', 'Lets the stream contain `BOOKMARK` events that carry a resource version only. Default false.'),
      resourceVersion: optional(4, 'string', 'For lists how fresh the answer must be, for watches where to start. Unset: the latest. `0`: anything the server has at hand.'),
      resourceVersionMatch: optional(10, 'string', { enum: 'ResourceVersionMatch' }, 'How `resourceVersion` applies to lists: `Exact` or `NotOlderThan`.'),
      timeoutSeconds: pointer(5, 'int64', 'Seconds after which the server ends the request.'),
      limit: optional(7, 'int64', 'Most objects to return at once; the answer then has a token for the rest. Default: no limit.'),
      continue: optional(8, 'string', 'Token of the previous chunk.'),
    }),
    ManagedFieldsEntry: message('Fields that one manager looks after.', {
      manager: optional(1, 'string', 'Name of the manager.'),
      operation: optional(2, 'string', { enum: 'ManagedFieldsOperationType' }, 'How the manager set them: `Apply` or `Update`.'),
      apiVersion: optional(3, 'string', 'Group and version in which the fields are named.'),
      time: pointer(4, 'Time', 'When the manager last changed one of them.'),
      fieldsType: optional(6, 'string', 'Format of the fields; always `FieldsV1`.'),
      fieldsV1: pointer(7, 'FieldsV1', 'The fields.'),
      subresource: optional(8, 'string', 'Subresource through which they were set; empty for the object itself.'),
    }),
    MicroTime: shaped('microTime', 'A time in RFC 3339 with microseconds.', {
      seconds: required(1, 'int64', 'Seconds since 1970-01-01T00:00:00Z.'),
      nanos: required(2, 'int32', 'Nanoseconds within the second.'),
    }),
    ObjectMeta: message('Name, labels, annotations and other data that every object has.', {
      name: optional(1, 'string', 'Name of the object, unique per kind and namespace. Cannot be changed.'),
      generateName: optional(2, 'string', 'Beginning of a name that the server completes with a random suffix when `name` is empty.'),
      namespace: optional(3, 'string', 'Namespace of the object. Default `default`; empty for kinds that do not live in namespaces. Cannot be changed.'),
      selfLink: optional(4, 'string', 'No longer used; always empty.'),
      uid: optional(5, 'string', 'Identity of the object, unique over time and space. Set by the server.'),
      resourceVersion: optional(6, 'string', 'Version of the object, changed by every write. Sent along with an update, it makes the update fail if another client was faster. Opaque.'),
      generation: optional(7, 'int64', { minimum: 0 }, 'Counts changes of the desired state. Set by the server.'),
      creationTimestamp: optional(8, 'Time', 'CreationTimestamp is a timestamp of the creation of the object. Set by the server.'),
      deletionTimestamp: pointer(9, 'Time', 'When the object is going to be gone, set once its deletion was asked for. Finalizers can delay it. Set by the server.'),
      deletionGracePeriodSeconds: pointer(10, 'int64', 'Seconds that the object gets to end by itself. Set by the server together with `deletionTimestamp`; may only become shorter.'),
      labels: optional(11, 'map<string, string>', 'Keys and values by which objects are organised and selected. Values are at most 63 characters.'),
      annotations: optional(12, 'map<string, string>', 'Keys and values of any content for tools; not for selecting. All together at most 256 KiB.'),
      ownerReferences: optional(13, 'OwnerReference[]', { patchMergeKey: 'uid' }, 'Objects that this one depends on. It is deleted once all of them are gone. At most one is the controller.'),
      finalizers: optional(14, 'string[]', { patchStrategy: 'merge' }, 'Who must still clean up before the object can go. While it is being deleted, entries can only be removed.'),
      clusterName: optional(15, 'string', 'No longer used; ignored.'),
      managedFields: optional(17, 'ManagedFieldsEntry[]', 'Who manages which fields. Kept by the server.'),
    }),
    OwnerReference: atomic('An object that this one depends on, in the same namespace or in none.', {
      apiVersion: required(5, 'string', "Group and version of the owner's schema."),
      kind: required(1, 'string', 'Kind of the owner.'),
      name: required(3, 'string', 'Name of the owner.'),
      uid: required(4, 'string', 'Identity of the owner.'),
      controller: pointer(6, 'bool', 'Whether the owner is the controller of this object. Default false.'),
      blockOwnerDeletion: pointer(7, 'bool', 'Whether a foreground deletion of the owner waits for this object. Default false.'),
    }),
    PartialObjectMetadata: bareKind('An object of any kind, reduced to its metadata.', {
      metadata: optional(1, 'ObjectMeta', "Standard object's metadata: name, labels, annotations and other data that every object has."),
    }),
    PartialObjectMetadataList: bareKind('A list of objects of any kind, reduced to their metadata.', {
      metadata: optional(1, 'ListMeta', 'Standard list metadata: its resource version, and where to continue when it comes in chunks.'),
      items: required(2, 'PartialObjectMetadata[]', 'The objects of the list.'),
    }),
    Patch: message('A change of an object, in the format that the content type names.', {}),
    PatchOptions: bareKind('Options of patching an object.', {
      dryRun: optional(1, 'string[]', '`All` goes through every step except storing.'),
      force: pointer(2, 'bool', 'Takes over fields that others manage. Only for apply patches. Default false: a conflict.'),
      fieldManager: optional(3, 'string', 'Name of who patches, for the record of managed fields. Required for apply patches. Default otherwise: from the user agent.'),
      fieldValidation: optional(4, 'string', 'What to do about unknown and duplicate fields: `Ignore`, `Warn` or `Strict`. Default `Warn`.'),
    }),
    Preconditions: message('What must hold of an object before it is changed.', {
      uid: pointer(1, 'string', 'Identity that the object must have.'),
      resourceVersion: pointer(2, 'string', 'Version that the object must have.'),
    }),
    RootPaths: message('The paths that a server knows.', {
      paths: required(1, 'string[]', 'The paths.'),
    }),
    ServerAddressByClientCIDR: message('An address of the server for some clients.', {
      clientCIDR: required(1, 'string', 'Address range of the clients.'),
      serverAddress: required(2, 'string', 'Address for them, as a host with an optional port.'),
    }),
    Status: bareKind('The outcome of a request that returns no object.', {
      metadata: optional(1, 'ListMeta', 'Standard list metadata: its resource version, and where to continue when it comes in chunks.'),
      status: optional(2, 'string', '`Success` or `Failure`.'),
      message: optional(3, 'string', 'What happened, for people.'),
      reason: optional(4, 'string', { enum: 'StatusReason' }, 'Why it failed, in one CamelCase word, for programs.'),
      details: pointer(5, 'StatusDetails', 'Further data on the failure, depending on the reason.'),
      code: optional(6, 'int32', 'HTTP status code of the answer.'),
    }),
    StatusCause: message('One cause of a failure.', {
      reason: optional(1, 'string', { enum: 'CauseType' }, 'Kind of the cause, in one CamelCase word, for programs.'),
      message: optional(2, 'string', 'What is wrong, for people.'),
      field: optional(3, 'string', 'Field that is to blame, such as `spec.containers[0].image`.'),
    }),
    StatusDetails: message('What a failure is about.', {
      name: optional(1, 'string', 'Name of the object.'),
      group: optional(2, 'string', 'Group of the resource.'),
      kind: optional(3, 'string', 'Kind or resource of the object.'),
      uid: optional(6, 'string', 'Identity of the object.'),
      causes: optional(4, 'StatusCause[]', 'All causes of the failure.'),
      retryAfterSeconds: optional(5, 'int32', 'Seconds to wait before trying again.'),
    }),
    TableOptions: bareKind('Options of asking for a table.', {
      includeObject: optional(1, 'string', { enum: 'IncludeObjectPolicy' }, 'What rows carry of their object: `None`, `Metadata` or `Object`. Default `Metadata`.'),
    }),
    Time: shaped('time', 'A time in RFC 3339 with seconds.', {
      seconds: required(1, 'int64', 'Seconds since 1970-01-01T00:00:00Z.'),
      nanos: required(2, 'int32', 'Nanoseconds within the second.'),
    }),
    Timestamp: message('A point in time.', {
      seconds: required(1, 'int64', 'Seconds since 1970-01-01T00:00:00Z.'),
      nanos: required(2, 'int32', 'Nanoseconds within the second, 0 to 999999999.'),
    }),
    TypeMeta: message('Kind and version of an object.', {
      kind: optional(1, 'string', "Name of the object's schema."),
      apiVersion: optional(2, 'string', "Group and version of the object's schema."),
    }),
    UpdateOptions: bareKind('Options of replacing an object.', {
      dryRun: optional(1, 'string[]', '`All` goes through every step except storing.'),
      fieldManager: optional(2, 'string', 'Name of who updates, for the record of managed fields. At most 128 printable characters. Default: from the user agent.'),
      fieldValidation: optional(3, 'string', 'What to do about unknown and duplicate fields: `Ignore`, `Warn` or `Strict`. Default `Warn`.'),
    }),
    Verbs: shaped('bareList', 'What can be done with a resource.', {
      items: required(1, 'string[]', 'The verbs.'),
    }),
    WatchEvent: message('One change in a watch.', {
      type: required(1, 'string', '`ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.'),
      object: required(2, 'runtime.RawExtension', 'The object after the change, before its deletion, or with the resource version only; for errors a Status.'),
    }),
  },
  enums: {
    CauseType: ['FieldManagerConflict', 'FieldValueDuplicate', 'FieldValueInvalid', 'FieldValueNotFound', 'FieldValueNotSupported', 'FieldValueRequired', 'ResourceVersionTooLarge', 'UnexpectedServerResponse'],
    ConditionStatus: ['False', 'True', 'Unknown'],
    DeletionPropagation: ['Background', 'Foreground', 'Orphan'],
    IncludeObjectPolicy: ['Metadata', 'None', 'Object'],
    LabelSelectorOperator: ['DoesNotExist', 'Exists', 'In', 'NotIn'],
    ManagedFieldsOperationType: ['Apply', 'Update'],
    ResourceVersionMatch: ['Exact', 'NotOlderThan'],
    StatusReason: ['', 'AlreadyExists', 'BadRequest', 'Conflict', 'Expired', 'Forbidden', 'Gone', 'InternalError', 'Invalid', 'MethodNotAllowed', 'NotAcceptable', 'NotFound', 'RequestEntityTooLarge', 'ServerTimeout', 'ServiceUnavailable', 'Timeout', 'TooManyRequests', 'Unauthorized', 'UnsupportedMediaType'],
  },
});
