(class_declaration name: (type_identifier) @class)
(abstract_class_declaration name: (type_identifier) @class)
(interface_declaration name: (type_identifier) @interface)
(type_alias_declaration name: (type_identifier) @type)
(enum_declaration name: (identifier) @enum)
(function_signature name: (identifier) @function)
(method_signature name: (property_identifier) @method)
(abstract_method_signature name: (property_identifier) @method)
(internal_module name: (identifier) @module)
(public_field_definition name: (property_identifier) @method value: (arrow_function))

(extends_clause value: (identifier) @use)
(type_identifier) @use
