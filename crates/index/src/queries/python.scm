(function_definition name: (identifier) @function)
(class_definition name: (identifier) @class)
(module (expression_statement (assignment left: (identifier) @variable)))

(call function: (identifier) @use)
(call function: (attribute attribute: (identifier) @use))
(class_definition superclasses: (argument_list (identifier) @use))
(decorator (identifier) @use)
(import_from_statement name: (dotted_name (identifier) @use))
