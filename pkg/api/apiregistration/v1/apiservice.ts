import { condition, defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    APIService: object('Lets another server serve a version of a group.', {
      spec: optional(2, 'APIServiceSpec', 'What the object is meant to be.'),
      status: optional(3, 'APIServiceStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    APIServiceCondition: condition("One aspect of an APIService's state.", { type: { enum: 'APIServiceConditionType' }, status: { enum: 'ConditionStatus' } }),
    APIServiceSpec: message('Who serves a version of a group.', {
      service: pointer(1, 'ServiceReference', 'Service of that server. Unset: this server itself.'),
      group: optional(2, 'string', 'Name of the group. The object is named `<version>.<group>`.'),
      version: optional(3, 'string', 'Name of the version.'),
      insecureSkipTLSVerify: optional(4, 'bool', { excludes: ['caBundle'] }, 'Does not verify the certificate of that server. Default false.'),
      caBundle: optional(5, 'bytes', { listType: 'atomic' }, "Certificates in PEM, in base64, that the server's own is verified with. Default: those of this server's system."),
      groupPriorityMinimum: required(7, 'int32', { minimum: 1, maximum: 20_000 }, 'Rank of the group among groups; higher comes first. The highest of its versions counts.'),
      versionPriority: required(8, 'int32', { minimum: 1, maximum: 1_000 }, 'Rank of the version within the group; higher comes first, then the more stable and newer version.'),
    }),
    APIServiceStatus: message('What was last observed of an APIService.', {
      conditions: optional(1, 'APIServiceCondition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
    ServiceReference: message('A service that a server is reached at.', {
      namespace: optional(1, 'string', 'Namespace of the service.'),
      name: optional(2, 'string', 'Name of the service.'),
      port: pointer(3, 'int32', { minimum: 1, maximum: 65535, default: 443 }, 'Port of the service, with HTTPS.'),
    }),
  },
  enums: {
    APIServiceConditionType: ['Available'],
    ConditionStatus: ['True', 'False', 'Unknown'],
  },
  resources: [
    {
      resource: 'apiservices',
      kind: 'APIService',
      namespaced: false,
      categories: ['api-extensions'],
      subresources: ['status'],
      columns: ['Name', 'Service', 'Available', 'Age'],
    },
  ],
});
