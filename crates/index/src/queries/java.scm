(class_declaration name: (identifier) @class)
(record_declaration name: (identifier) @class)
(interface_declaration name: (identifier) @interface)
(annotation_type_declaration name: (identifier) @interface)
(enum_declaration name: (identifier) @enum)
(method_declaration name: (identifier) @method)
(constructor_declaration name: (identifier) @constructor)
(field_declaration declarator: (variable_declarator name: (identifier) @field))

(method_invocation name: (identifier) @use)
(type_identifier) @use
