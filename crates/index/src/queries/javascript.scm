(function_declaration name: (identifier) @function)
(generator_function_declaration name: (identifier) @function)
(variable_declarator name: (identifier) @function value: [(arrow_function) (function_expression)])
(assignment_expression
  left: [(identifier) @function (member_expression property: (property_identifier) @function)]
  right: [(arrow_function) (function_expression)])
(pair key: (property_identifier) @function value: [(arrow_function) (function_expression)])
(method_definition name: (property_identifier) @method)
(method_definition name: (private_property_identifier) @method)
(program (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @constant))))
(program (lexical_declaration (variable_declarator name: (identifier) @constant)))
